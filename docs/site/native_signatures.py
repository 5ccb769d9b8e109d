"""Types for the functions of the extension module.

The module has the docstrings, and its stub has the types. For the reference each public
function or class of the module gives way to that of the stub, with the docstring of the
former.
"""

from __future__ import annotations
import __future__

import types
from pathlib import Path
from typing import Any

import kvswap
from kvswap import _core


def _load(stub: Path) -> types.ModuleType:
    module = types.ModuleType("kvswap")
    # Names of types are kept as the stub has them: `Stream`, and not what it stands for.
    code = compile(
        stub.read_text(encoding="utf-8"),
        str(stub),
        "exec",
        flags=__future__.annotations.compiler_flag,
    )
    exec(code, module.__dict__)
    return module


def _document(typed: Any, native: Any) -> None:
    typed.__doc__ = native.__doc__
    for name, member in vars(typed).items():
        documented = getattr(native, name, None)
        if isinstance(member, property) and documented is not None:
            # "int: what it is": the stub has the type.
            _, _, text = str(documented.__doc__).partition(": ")
            setattr(typed, name, property(member.fget, doc=text[:1].upper() + text[1:]))


def install(stub: Path) -> None:
    """Puts what the stub declares in the place of the module's own objects.

    Raises:
        AttributeError: the stub lacks a public name of the module.
    """
    declared = _load(stub)
    for name in kvswap.__all__:
        native = vars(kvswap)[name]
        if vars(_core).get(name) is not native or isinstance(native, str):
            continue
        typed = getattr(declared, name)
        _document(typed, native)
        typed.__module__ = "kvswap"
        setattr(kvswap, name, typed)
