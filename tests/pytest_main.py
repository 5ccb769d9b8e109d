"""Runs pytest as a Bazel test: the `main` of pytest_test.

Takes the test files from the environment (KVSWAP_PYTEST_FILES, paths from the folder in
which Bazel starts a test) and further arguments for pytest from the command line.
"""

import os
import sys

import pytest


def _load_sanitizer() -> None:
    """Starts this program anew with the sanitizer's runtime before everything else.

    The children of a test get it by the same variable. Paths are absolute, because
    children may work in another folder.
    """
    libraries = os.environ.pop("SANITIZER_RUNTIME", "").split()
    if libraries:
        os.environ["LD_PRELOAD"] = ":".join(map(os.path.abspath, libraries))
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main() -> int:
    arguments = [
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "-ra",
    ]
    if report := os.environ.get("XML_OUTPUT_FILE"):
        arguments.append(f"--junitxml={report}")
    if test_filter := os.environ.get("TESTBRIDGE_TEST_ONLY"):
        arguments += ["-k", test_filter]
    if folder := os.environ.get("TEST_TMPDIR"):
        arguments.append(f"--basetemp={os.path.join(folder, 'pytest')}")

    files = os.environ["KVSWAP_PYTEST_FILES"].split()
    # A configuration file further up must not be found: none there is ours.
    arguments += ["-c", os.devnull, f"--rootdir={os.getcwd()}"]
    code = pytest.main(arguments + sys.argv[1:] + files)
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        print(
            "pytest_main: no test was run, which counts as a failure", file=sys.stderr
        )
    return int(code)


if __name__ == "__main__":
    _load_sanitizer()
    sys.exit(main())
