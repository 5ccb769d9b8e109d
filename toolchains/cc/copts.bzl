"""Compiler options of kvswap's own C and C++ targets."""

_WARNINGS = [
    "-Wall",
    "-Wextra",
] + select({
    Label("//toolchains/cc:are_warnings_errors"): ["-Werror"],
    "//conditions:default": [],
})

# `copts` of every C++ target. Symbols are hidden: what a library exports is marked
# in its header.
KVSWAP_COPTS = [
    "-std=c++17",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
] + _WARNINGS

# `copts` of targets whose sources are C.
KVSWAP_C_COPTS = [
    "-std=c11",
    "-fvisibility=hidden",
] + _WARNINGS
