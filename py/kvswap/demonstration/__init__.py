"""What `kvswap demo` consists of: a small scheduler, and two ways to show its steps."""
