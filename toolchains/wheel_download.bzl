"""Gets hash-locked wheels, for repository rules.

pip does the download, so that indexes, mirrors, proxies and wheel folders that
the machine's pip is set up for are honoured, and checks the hashes.
"""

load("//toolchains/python:interpreter.bzl", "PYTHON_VARIABLE", "find_python", "last_line")

def _explain(python, lock, output):
    """What went wrong in pip, in a line that names the fix."""
    if "No module named pip" in output:
        return "{} has no pip. Install it (Debian: apt-get install python3-pip), or name a Python that has it: --repo_env={}=PATH".format(
            python,
            PYTHON_VARIABLE,
        )
    if "DO NOT MATCH THE HASHES" in output:
        return ("the index serves a file whose SHA-256 is not in {}. If the release was really rebuilt, " +
                "update the lock file; otherwise do not trust that index").format(lock)
    if "--require-hashes" in output:
        return "{} lacks a --hash: {}".format(lock, last_line(output))
    return ("pip cannot get what {} names. Check the network and pip's settings (`python3 -m pip config list`), " +
            "or offer the wheels in a folder: PIP_FIND_LINKS. pip said: {}").format(lock, last_line(output))

def unpack_wheels(repository_ctx, lock, timeout):
    """Downloads the wheels of a lock file and unpacks them at the repository's root.

    Args:
      repository_ctx: of the calling repository rule.
      lock: label of a pip requirements file; every line pins a version and its hashes,
        one for each platform.
      timeout: seconds that the download may take.
    """
    python = find_python(repository_ctx)
    lock = repository_ctx.path(lock)
    repository_ctx.report_progress("pip download -r {}".format(lock.basename))
    result = repository_ctx.execute(
        [
            python,
            "-m",
            "pip",
            "download",
            "--disable-pip-version-check",
            "--no-input",
            "--no-deps",
            "--require-hashes",
            "--only-binary=:all:",
            "--dest",
            "wheels",
            "--requirement",
            lock,
        ],
        timeout = timeout,
    )
    if result.return_code != 0:
        fail("kvswap: @{}: {}".format(
            repository_ctx.name,
            _explain(python, lock.basename, result.stdout + result.stderr),
        ))

    for wheel in repository_ctx.path("wheels").readdir():
        # extract() tells formats by the name's end, and does not know .whl.
        archive = wheel.basename + ".zip"
        repository_ctx.symlink(wheel, archive)
        repository_ctx.extract(archive)
        repository_ctx.delete(archive)
    repository_ctx.delete("wheels")
