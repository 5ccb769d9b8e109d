"""Finds the machine's Python, for repository rules."""

# Environment variable that names another interpreter than python3: a name on the
# PATH or a path. --repo_env=KVSWAP_PYTHON=python3.12
PYTHON_VARIABLE = "KVSWAP_PYTHON"

def find_python(repository_ctx):
    """The interpreter that repository rules run and build for.

    Args:
      repository_ctx: of the calling repository rule.

    Returns:
      its path
    """
    name = repository_ctx.os.environ.get(PYTHON_VARIABLE, "") or "python3"
    python = repository_ctx.path(name) if name.startswith("/") else repository_ctx.which(name)
    if not python or not python.exists:
        fail("kvswap: no {} on the PATH. Install Python 3.10 or newer with pip, or name one: --repo_env={}=PATH".format(
            name,
            PYTHON_VARIABLE,
        ))
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
