"""The program's command line: help, wrong words, exit statuses, interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import kvswap
from kvswap.command_line import COMMANDS
from tests.commands.program import child_environment, command, run

NOWHERE = {"KVSWAP_LIBCUDA": "/no/driver/here/libcuda.so.1"}


def test_help_teaches() -> None:
    outcome = run("--help")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    text = outcome.stdout
    assert "Run first: python -m kvswap doctor" in text
    for word in (*COMMANDS, "examples:", "exit status:", "kvswap[all]", "docs"):
        assert word in text
    # absl's own flags are none of the user's business.
    for word in ("helpfull", "logtostderr", "pdb"):
        assert word not in text


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_commands(name: str) -> None:
    outcome = run(name, "--help")
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert f"usage: python -m kvswap {name}" in outcome.stdout
    assert "helpfull" not in outcome.stdout
    assert "Traceback" not in outcome.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_as_a_word(name: str) -> None:
    assert run("help", name).stdout == run(name, "--help").stdout


def test_help_as_a_word_alone() -> None:
    outcome = run("help")
    assert (outcome.returncode, outcome.stdout) == (0, run("--help").stdout)


def test_version() -> None:
    outcome = run("--version")
    assert (outcome.returncode, outcome.stdout) == (0, f"kvswap {kvswap.__version__}\n")


def test_no_command() -> None:
    outcome = run()
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert "Run first" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["docter"], "there is no command 'docter'; did you mean doctor?"),
        (["xyzzy"], "there is no command 'xyzzy' ("),
        (["--versoin"], "there is no flag --versoin; did you mean --version?"),
        (["doctor", "--jsn"], "there is no flag --jsn; did you mean --json?"),
        (["doctor", "--js"], "there is no flag --js"),
        (["--model", "qwen3-8b"], "--model; that is one of python -m kvswap bench"),
        (["demo", "--host"], "--host; that is one of python -m kvswap bench"),
        (["hepl"], "there is no command 'hepl'; did you mean help?"),
        (["help", "bnch"], "there is no command 'bnch'; did you mean bench?"),
        (["bench", "--tune"], "--tune and --shapes belong to --compute"),
        (["bench", "--plot=run.gif"], "has to end in .png, .svg, .pdf"),
        (["bench", "--host", "--seconds=long"], "'long' is no number from zero on"),
        (["bench", "--counts=few"], "'few' is no whole number from 1 on"),
        (["demo", "--steps=many"], "'many' is no whole number from 0 on"),
        (["demo", "--speed=0"], "'0' is no number above zero"),
        (["demo", "--seed=x"], "'x' is no whole number"),
        (["doctor", "extra"], "'extra' is one argument too many"),
        (["doctor", "--gpu=one"], "'one' is no number of a GPU"),
        (["doctor", "--gpu"], "expected one argument"),
        (["bench", "--sizes=7q"], "'7q' is no size"),
    ],
)
def test_wrong(arguments: list[str], message: str) -> None:
    outcome = run(*arguments)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert message in outcome.stderr
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("python -m kvswap") and line.endswith("--help)")


def test_interrupted(tmp_path: Path) -> None:
    # The loader waits for somebody to write to it, as for a driver that hangs.
    os.mkfifo(tmp_path / "libcuda.so.1")
    with subprocess.Popen(
        command("doctor", "--skip-torch"),
        env=child_environment({"KVSWAP_LIBCUDA": str(tmp_path / "libcuda.so.1")}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        # It has begun once it has a child.
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        for _ in range(600):
            if children.read_text():
                break
            time.sleep(0.1)
        time.sleep(0.5)
        assert program.poll() is None
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=30)
    assert program.returncode == 130
    assert (output, errors.strip()) == ("", "interrupted")


# Python runs it before anything else: the import of a module interrupts the process.
_SITE = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
            # Python raises the interruption between two instructions of its own.
            for _ in range(1000): pass

sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize("way", ["module", "script", "another script"])
@pytest.mark.parametrize(
    "module",
    [
        "kvswap._core",
        "kvswap.tickets",
        "kvswap.command_line",
        "absl.flags",
        "kvswap.doctor.command",
        "kvswap.bench",
    ],
)
def test_interrupted_while_it_starts(tmp_path: Path, module: str, way: str) -> None:
    """No traceback, wherever Ctrl-C comes; programs that import the package have theirs."""
    (tmp_path / "sitecustomize.py").write_text(_SITE.format(module=module))
    script = tmp_path / ("kvswap" if way == "script" else "program.py")
    # As pip makes it.
    script.write_text(
        "import sys\nfrom kvswap.command_line import main\nsys.exit(main())\n"
    )
    words = command("demo") if way == "module" else [command()[0], str(script), "demo"]
    environment = child_environment(NOWHERE)
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    outcome = subprocess.run(
        words,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # By the signal itself, which a shell shows as 130, before the program catches it.
    assert outcome.returncode in (130, -signal.SIGINT)
    imported = module in ("kvswap._core", "kvswap.tickets", "kvswap.command_line")
    if way == "another script" and imported:
        assert "Traceback" in outcome.stderr
    else:
        assert (outcome.stdout, outcome.stderr) == ("", "\ninterrupted\n")


def test_interrupted_demo() -> None:
    """Its child, which looks for the driver, says nothing of its own."""
    with subprocess.Popen(
        command("demo", "--steps=100000", "--plain"),
        env=child_environment(NOWHERE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        while " 3. " not in program.stdout.readline():
            assert program.poll() is None
        # As a terminal does: to the whole group.
        os.killpg(program.pid, signal.SIGINT)
        _, errors = program.communicate(timeout=60)
    assert (program.returncode, errors) == (130, "\ninterrupted\n")


@pytest.mark.parametrize(
    ("arguments", "status"),
    # argparse itself takes a help that nobody reads for read.
    [(["--help"], 0), (["--version"], 0), (["doctor", "--skip-torch"], 141)],
)
def test_broken_pipe(arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:
        outcome = subprocess.run(
            command(*arguments),
            env=child_environment(NOWHERE),
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert outcome.stderr == ""
    assert outcome.returncode in (status, 141)


def test_works_without_absl() -> None:
    """As a copy of the package alone, on a machine without a network."""
    text = (
        "import sys; sys.modules['absl'] = None; sys.argv = ['kvswap'];"
        "from kvswap.command_line import main; sys.exit(main(['doctor', '--nope']))"
    )
    outcome = subprocess.run(
        [command()[0], "-c", text],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 2
    assert outcome.stderr == (
        "kvswap doctor: there is no flag --nope (kvswap doctor --help)\n"
    )


def test_says_nothing_of_absl() -> None:
    """Records of libraries are not the program's to show."""
    text = (
        "import logging, sys, types\n"
        "from kvswap import command_line\n"
        "module = types.ModuleType('chatty')\n"
        "module.SUMMARY = module.DESCRIPTION = 'Logs.'\n"
        "module.add_arguments = lambda parser: None\n"
        "module.run = lambda options: logging.getLogger('a').info('a record') or 0\n"
        "sys.modules['chatty'] = module\n"
        "command_line.COMMANDS['chatty'] = 'chatty'\n"
        "sys.exit(command_line.main(['chatty']))\n"
    )
    outcome = subprocess.run(
        [command()[0], "-c", text],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
