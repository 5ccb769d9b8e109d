"""Says why kvswap cannot be imported, and what to do."""

from __future__ import annotations

import platform
import sys
import sysconfig
from pathlib import Path

_PACKAGE = Path(__file__).absolute().parent


def explain(error: ImportError) -> str:
    """The import of the extension module failed with `error`: the cause and the fix."""
    here = (
        f"{platform.python_implementation()} {platform.python_version()} on "
        f"{sysconfig.get_platform()}"
    )
    modules = sorted(_PACKAGE.glob("_core*.so"))
    if not modules:
        return (
            f"kvswap has no extension module in {_PACKAGE}: it is built by Bazel "
            "(//py/kvswap) or comes in a wheel. A checkout's py folder alone on the "
            "search path does not do"
        )
    suffixes = (sysconfig.get_config_var("EXT_SUFFIX"), ".so")
    if not any(_PACKAGE / f"_core{suffix}" in modules for suffix in suffixes):
        names = ", ".join(module.name for module in modules)
        return (
            f"kvswap in {_PACKAGE} was built for another Python ({names}) than this "
            f"one, {here}. Install it with this one: {sys.executable} -m pip install "
            "kvswap"
        )
    if not (_PACKAGE / "libkvswap.so").exists():
        return (
            f"kvswap lacks libkvswap.so in {_PACKAGE}, which its module needs beside "
            f"it. Install it again. ({error})"
        )
    problem: object = error
    if "subinterpreters" in str(error):
        # CPython's own refusal, which does not say what to do.
        problem = (
            "kvswap works in the main interpreter of a process alone, not in a "
            "sub-interpreter: use threads or processes"
        )
    return f"kvswap's extension module does not load in {here}: {problem}"
