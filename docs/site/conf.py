"""Sphinx: how the site of the documentation is made.

Runs in a tree that mirrors the repository: README.md, docs, the C header and the built
Python packages. build_site.py lays it out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_ROOT = _FOLDER.parents[1]
sys.path[:0] = [str(_FOLDER), str(_ROOT / "py")]

import c_reference  # noqa: E402
import contents  # noqa: E402
import native_signatures  # noqa: E402
import python_reference  # noqa: E402
import source_links  # noqa: E402

native_signatures.install(_ROOT / "py/kvswap/_core.pyi")

project = "kvswap"
author = "the kvswap authors"
copyright = "the kvswap authors"  # noqa: A001
_version = re.search(
    r'VERSION = "([^"]+)"',
    (_ROOT / "toolchains/version.bzl").read_text(encoding="utf-8"),
)
assert _version is not None
version = release = _version[1]

root_doc = contents.ROOT_PAGE
include_patterns = ["README.md", "CHANGELOG.md", "docs/**", "examples/README.md"]
exclude_patterns = ["docs/site/**"]
extensions = [
    "hawkmoth",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
nitpicky = True
# Code and messages are to be found as they are written.
smartquotes = False
nitpick_ignore_regex = [
    # Types of C that the header takes from elsewhere.
    ("c:identifier", r"size_t|u?int\d+_t"),
    # Defined by no page of ours: the standard library's and torch's.
    ("py:.*", r"(collections\.abc|ctypes|os|typing|typing_extensions|torch)\..*"),
    ("py:.*", r"Buffer|IO|Any|PathLike|memoryview|c_\w+"),
    # Private parts that types of private attributes name.
    ("py:.*", r"(kvswap\.|kvswap\.testing\.cuda_driver\.)?_\w+(\.\w+)*"),
    ("py:.*", r"optional|default .*"),
]

# Links between pages are those of plain Markdown, with the anchors of code hosts.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Docstrings.
autodoc_default_options = {"members": True}
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
default_role = "py:obj"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 70

# The C header.
hawkmoth_root = str(c_reference.prepare(_ROOT / "csrc/kvswap.h"))
# No compiler is asked: c_reference.py brings what the header includes.
hawkmoth_compiler = None
hawkmoth_autoconf: list[str] = []
hawkmoth_clang_c = c_reference.CLANG_ARGUMENTS
c_maximum_signature_line_length = 70

html_theme = "furo"
html_title = f"kvswap {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
# The home page is docs/index.html: whoever opens the folder is led there.
html_extra_path = ["extra"]


def setup(app: object) -> None:
    """Connects what is ours."""
    c_reference.connect(app)
    contents.connect(app)
    python_reference.connect(app)
    source_links.connect(app)
