"""Where the C ABI lies: for programs in C, C++ and other languages.

The library ``libkvswap.so`` that this package uses, and its header, serve other
programs too. A process must have one of it: one driver table, one set of counters.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).absolute().parent


def get_include() -> str:
    """The folder of ``kvswap.h``, for a compiler's ``-I``."""
    return str(_PACKAGE / "include")


def get_library_dir() -> str:
    """The folder of ``libkvswap.so``, for a linker's ``-L`` and ``-rpath``."""
    return str(_PACKAGE)


def get_cmake_dir() -> str:
    """The folder of ``kvswapConfig.cmake``: CMake's ``-Dkvswap_DIR=``.

    ``find_package(kvswap CONFIG)`` defines the target ``kvswap::kvswap``.
    """
    return str(_PACKAGE / "cmake")


def get_pkgconfig_dir() -> str:
    """The folder of ``kvswap.pc``, for ``PKG_CONFIG_PATH``."""
    return str(_PACKAGE / "pkgconfig")
