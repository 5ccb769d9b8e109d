"""Helpers for tests, demos and examples. Nothing here needs kvswap itself."""
