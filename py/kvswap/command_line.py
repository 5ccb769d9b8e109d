"""The program ``kvswap``, which is also ``python -m kvswap``.

Each command is a module with four names: ``SUMMARY``, a line; ``DESCRIPTION``, text that
teaches; ``add_arguments(parser)``; ``run(options)``, which returns the exit status.
``run`` may raise ``argparse.ArgumentError(None, message)`` for arguments that do not go
together.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import kvswap
from kvswap.close_names import did_you_mean

COMMANDS = {
    "doctor": "kvswap.doctor.command",
    "demo": "kvswap.demo",
    "bench": "kvswap.bench",
}
"""From each command to its module, in the order in which a new user runs them."""

_HELP = "help"

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

_DESCRIPTION = """\
kvswap moves KV-cache blocks between GPU and host memory. This program says whether
that works on this machine, shows it, and measures it.

Run first: {program} doctor
"""

_EPILOG = """\
examples:
  {program} doctor                  what works here, what does not, and what to do
  {program} doctor --json           the same for a bug report
  {program} demo                    blocks out of the GPU and in again, compared
  {program} bench --seconds 60      how fast blocks move, beside the alternatives
  {program} help COMMAND            all that a command takes

exit status:
  0    done
  1    the command failed: its message says why
  2    no such command or flag, or a wrong value
  3, 4 as the command's own --help says; of doctor: swaps work with warnings (3),
       swaps cannot work here (4)
  130  interrupted (Ctrl-C)
  141  the reader of the output went away (| head)

From Python: help(kvswap). What is installed as an extra:
  pip install 'kvswap[all]'         colours, plots, NVTX ranges, the simulated driver
                                    (--find-links FOLDER where wheels are in a folder)
The guides are in the folder docs of the sources: python.md, engines.md, doctor.md.
"""


def program_name() -> str:
    """How the user called this program."""
    name = os.path.basename(sys.argv[0])
    return "kvswap" if name == "kvswap" else "python -m kvswap"


def _base_parser() -> tuple[type[argparse.ArgumentParser], dict[str, Any]]:
    """The parser's class, and what it needs to have no flags of absl's own."""
    try:
        from absl.flags import argparse_flags
    except ImportError:
        # A checkout or a copy of the package alone, without what the wheel asks for.
        return argparse.ArgumentParser, {}
    return argparse_flags.ArgumentParser, {"inherited_absl_flags": None}


def _usage_error(program: str, message: str) -> NoReturn:
    print(f"{program}: {message} ({program} --help)", file=sys.stderr)
    raise SystemExit(EXIT_USAGE)


def _make_parser_class(
    base: type[argparse.ArgumentParser],
) -> type[argparse.ArgumentParser]:
    class Parser(base):  # type: ignore[misc, valid-type]
        def error(self, message: str) -> NoReturn:
            _usage_error(self.prog, message)

    return Parser


def make_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the program, and those of its commands."""
    base, common = _base_parser()
    parser_class = _make_parser_class(base)
    program = program_name()
    common |= {
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
        # absl's parser would add --helpfull, which has nothing to show.
        "add_help": False,
    }
    parser = parser_class(
        prog=program,
        description=_DESCRIPTION.format(program=program),
        epilog=_EPILOG.format(program=program),
        **common,
    )
    _add_help(parser)
    parser.add_argument(
        "--version",
        action="version",
        version=f"kvswap {kvswap.__version__}",
        help="print the version and exit",
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command"
    )
    parsers = {}
    for name, module_name in COMMANDS.items():
        module = importlib.import_module(module_name)
        command = commands.add_parser(
            name, help=module.SUMMARY, description=module.DESCRIPTION, **common
        )
        _add_help(command)
        module.add_arguments(command)
        parsers[name] = command
    return parser, parsers


def _add_help(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-h", "--help", action="help", help="show this text and exit")


def _option_names(parser: argparse.ArgumentParser) -> list[str]:
    return list(_all_options(parser))


def _all_options(parser: argparse.ArgumentParser) -> Iterator[str]:
    # argparse tells its options in no other way.
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            yield from action.option_strings


def _refuse_flag(
    word: str,
    command: argparse.ArgumentParser,
    parsers: Mapping[str, argparse.ArgumentParser],
) -> NoReturn:
    flag = word.partition("=")[0]
    owners = [
        parser.prog for parser in parsers.values() if flag in _option_names(parser)
    ]
    hint = (
        f"; that is one of {' and '.join(owners)}"
        if owners
        else did_you_mean(flag, _option_names(command))
    )
    _usage_error(command.prog, f"there is no flag {flag}{hint}")


def _refuse_unknown(program: str, commands: Sequence[str]) -> None:
    for command in commands:
        if command not in COMMANDS:
            known = [*COMMANDS, _HELP]
            _usage_error(
                program,
                f"there is no command {command!r}{did_you_mean(command, known)}",
            )


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line.

    Ends the process after ``--help``, ``help`` and ``--version``, and with status 2 and one line
    on stderr where something is wrong.
    """
    parser, parsers = make_parser()
    for word in itertools.takewhile(lambda word: word.startswith("-"), arguments):
        if word.partition("=")[0] not in _option_names(parser):
            _refuse_flag(word, parser, parsers)
    # The program's own options take no value: the first other word is the command.
    words = [word for word in arguments if not word.startswith("-")]
    if words and words[0] == _HELP:
        _refuse_unknown(parser.prog, words[1:2])
        arguments = [*words[1:], "--help"]
    else:
        _refuse_unknown(parser.prog, words[:1])
    options, unknown = parser.parse_known_args(list(arguments))
    command = parsers.get(options.command, parser)
    for word in unknown:
        if not word.startswith("-"):
            _usage_error(command.prog, f"{word!r} is one argument too many")
        _refuse_flag(word, command, parsers)
    if options.command is None:
        parser.print_help(sys.stderr)
        raise SystemExit(EXIT_USAGE)
    return options


def execute(options: argparse.Namespace) -> int:
    """Runs the command that the options are for; its exit status."""
    module = importlib.import_module(COMMANDS[options.command])
    try:
        status = int(module.run(options))
    except argparse.ArgumentError as error:
        _usage_error(f"{program_name()} {options.command}", str(error))
    # Here rather than at the end of the process: a broken pipe is still caught.
    sys.stdout.flush()
    return status


def _run(arguments: Sequence[str]) -> int:
    try:
        from absl import app, flags
        from absl import logging as absl_logging
    except ImportError:
        return execute(parse(arguments))

    def parse_flags(words: Sequence[str]) -> argparse.Namespace:
        flags.FLAGS(words[:1])  # all at their defaults: none is on the command line
        return parse(words[1:])

    def run_command(options: argparse.Namespace) -> int:
        # absl would show the records of every library, in a form of its own. What
        # kvswap has to say is asked for by KVSWAP_LOG.
        logging.getLogger().removeHandler(absl_logging.get_absl_handler())
        return execute(options)

    run: Callable[..., NoReturn] = app.run
    run(run_command, [sys.argv[0], *arguments], flags_parser=parse_flags)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program.

    Args:
        arguments: those of the command line, without the program's name; None: those
            of this process.

    Returns:
        The exit status, which ``kvswap --help`` explains.
    """
    try:
        try:
            return _run(sys.argv[1:] if arguments is None else arguments)
        except SystemExit:
            sys.stdout.flush()
            raise
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more when it ends, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE


if __name__ == "__main__":
    sys.exit(main())
