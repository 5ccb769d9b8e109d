"""``kvswap doctor``: whether swaps work on this machine, how, and what to do if not."""
