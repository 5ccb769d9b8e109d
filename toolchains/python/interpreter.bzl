"""Finds the machine's Python, for repository rules."""

# Environment variable that names another interpreter than python3: a name on the
# PATH or an absolute path. --repo_env=KVSWAP_PYTHON=python3.12
PYTHON_VARIABLE = "KVSWAP_PYTHON"

# The oldest Python that kvswap is for.
_OLDEST = (3, 10)

# Understood by every Python, also by one that is too old.
_PRINT_VERSION = "import sys; print('.'.join([str(part) for part in sys.version_info[:3]]))"

_ADVICE = "Install Python 3.10 or newer with pip, or name one: --repo_env={}=PATH".format(PYTHON_VARIABLE)

def _locate(repository_ctx, name):
    """The path of an interpreter that is named by a path or by a name on the PATH."""
    if name.startswith("/"):
        python = repository_ctx.path(name)
        if not python.exists:
            fail("kvswap: there is no {}, which {} names. {}".format(name, PYTHON_VARIABLE, _ADVICE))
        return python
    if "/" in name:
        fail("kvswap: {}={}: an absolute path or a name on the PATH is needed. {}".format(
            PYTHON_VARIABLE,
            name,
            _ADVICE,
        ))
    python = repository_ctx.which(name)
    if not python:
        fail("kvswap: no {} on the PATH. {}".format(name, _ADVICE))
    return python

def _version(repository_ctx, python):
    result = repository_ctx.execute([python, "-c", _PRINT_VERSION])
    version = result.stdout.strip()
    numbers = version.split(".")
    if result.return_code != 0 or len(numbers) != 3 or not all([n.isdigit() for n in numbers]):
        fail("kvswap: {} is no Python that runs: {}. {}".format(
            python,
            last_line(result.stderr + result.stdout),
            _ADVICE,
        ))
    return version

def find_python(repository_ctx):
    """The interpreter that repository rules run and build for.

    Args:
      repository_ctx: of the calling repository rule.

    Returns:
      its path
    """
    name = repository_ctx.os.environ.get(PYTHON_VARIABLE, "") or "python3"
    python = _locate(repository_ctx, name)
    version = _version(repository_ctx, python)
    if tuple([int(number) for number in version.split(".")[:2]]) < _OLDEST:
        fail("kvswap: {} is Python {}, which is too old. {}".format(python, version, _ADVICE))
    return python

def last_line(text):
    """The last line of a program's output that says something.

    Args:
      text: the output

    Returns:
      the line, without white space around it
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "(no output)"
