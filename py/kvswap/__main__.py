"""``python -m kvswap``: the program ``kvswap``."""

import sys

from kvswap.command_line import main

if __name__ == "__main__":
    sys.exit(main())
