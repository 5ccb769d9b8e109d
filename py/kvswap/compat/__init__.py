"""The interfaces of other projects, by kvswap."""
