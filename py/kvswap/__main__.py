"""``python -m kvswap COMMAND``: runs one of kvswap's programs."""

from __future__ import annotations

import importlib
import sys

from absl import app, flags

COMMANDS = {
    "bench": "what a call costs on the host, beside the driver's own work",
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
    # Its flags are defined when it is imported; --help is to show its text and flags.
    program = importlib.import_module(f"kvswap.{command}")
    sys.modules["__main__"].__doc__ = program.__doc__
    flags.adopt_module_key_flags(program)
    app.run(program.main, [f"{sys.argv[0]} {command}", *sys.argv[2:]])


if __name__ == "__main__":
    main()
