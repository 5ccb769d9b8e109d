"""The parts of ``python -m kvswap bench``."""
