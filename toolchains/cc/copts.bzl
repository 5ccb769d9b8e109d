"""Options of the compiler and the linker for kvswap's own C and C++ targets."""

_WARNINGS = [
    "-Wall",
    "-Wextra",
] + select({
    Label("//toolchains/cc:are_warnings_errors"): ["-Werror"],
    "//conditions:default": [],
})

# Against mistakes that would let memory be overwritten unnoticed. The toolchain's own
# choice, which may be a weaker one, is taken back first. Without optimisation the C
# library has no checked functions.
_HARDENING = ["-fstack-protector-strong"] + select({
    Label("//toolchains/cc:is_optimised"): [
        "-U_FORTIFY_SOURCE",
        "-D_FORTIFY_SOURCE=2",
    ],
    "//conditions:default": [],
})

# `linkopts` of every shared library that is released: what the loader has written is
# read-only before any code runs, and the stack is never executable.
KVSWAP_LINKOPTS = [
    "-Wl,-z,relro,-z,now",
    "-Wl,-z,noexecstack",
]

# `copts` of every C++ target. Symbols are hidden: what a library exports is marked
# in its header.
KVSWAP_COPTS = [
    "-std=c++17",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
] + _HARDENING + _WARNINGS

# `copts` of targets whose sources are C.
KVSWAP_C_COPTS = [
    "-std=c11",
    "-fvisibility=hidden",
] + _HARDENING + _WARNINGS
