"""``python -m kvswap COMMAND``: runs one of kvswap's programs."""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "bench": "how fast blocks move, beside the alternatives; what calls cost",
    "demo": "an offload round: blocks out of the GPU and back, every byte compared",
}


def usage() -> str:
    """What can be run, a line each."""
    lines = ["usage: python -m kvswap COMMAND [--help] [flags]", ""]
    lines += [f"  {command:8}{text}" for command, text in COMMANDS.items()]
    return "\n".join(lines)


def main() -> None:
    """Runs the command that the first argument names; exits with its status."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in ("-h", "--help", "help"):
        print(usage())
        return
    if command not in COMMANDS:
        wrong = f"{command!r} is no command\n" if command else ""
        sys.exit(wrong + usage())
    program = importlib.import_module(f"kvswap.{command}")
    sys.exit(program.main(sys.argv[2:]))


if __name__ == "__main__":
    main()
