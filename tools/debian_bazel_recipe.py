"""What the private Bazel is made of: versions, packages, modules. Data only.

A change here that changes the prefix needs a new RECIPE_NUMBER: the number is part of
the prefix's folder name, so every machine builds the changed prefix beside the old one,
and checkouts of different age do not disturb each other.
"""

from __future__ import annotations

from typing import NamedTuple

BAZEL_VERSION = "7.7.1"
RECIPE_NUMBER = 1

# Disk space for the downloads and the unpacked prefix together.
NEEDED_MEGABYTES = 800

# Suites that package this Bazel, in the order in which they are asked.
SUITES = ("forky", "sid")

# What is downloaded; apt adds what these depend on.
PACKAGES = (
    "bazel-bootstrap",
    "bazel-rules-pkg",
    "bazel-rules-shell",
    "default-jre-headless",
    "patchelf",
)

# Dependencies of PACKAGES that the private Bazel does without, because the machine's
# own compilers and tools do the work or because nothing here asks for them. apt is told
# that they are installed. That saves two thirds of the download.
PACKAGES_LEFT_OUT = (
    "binutils",
    "build-essential",
    "ca-certificates",
    "ca-certificates-java",
    "debconf",
    "default-jdk-headless",
    "g++",
    "gcc",
    "java-common",
    "libjs-jquery",
    "media-types",
    "netbase",
    "node-core-js",
    "node-html5shiv",
    "patch",
    "perl",
    "python3",
    "tzdata",
    "unzip",
    "util-linux",
    "zlib1g-dev",
)


class MachineKind(NamedTuple):
    """The names that one processor architecture has in Debian's packages."""

    debian_name: str
    triplet: str
    loader: str


# Keyed by what `uname -m` says.
MACHINE_KINDS = {
    "x86_64": MachineKind("amd64", "x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
    "aarch64": MachineKind("arm64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
}

# Bazel modules that come with the packages, and their folders under usr/share/bazel.
PACKAGED_MODULES = {
    "bazel_features": "tools/features",
    "bazel_skylib": "tools/skylib",
    "platforms": "tools/platforms",
    "rules_cc": "rules/cc",
    "rules_java": "rules/java",
    "rules_license": "rules/license",
    "rules_pkg": "rules/pkg",
    "rules_proto": "rules/proto",
    "rules_python": "rules/python",
    "rules_shell": "rules/shell",
}


class StandInModule(NamedTuple):
    """An empty module, in place of one that packaged modules name and nobody loads."""

    name: str
    versions: tuple[str, ...]
    # The name of the same repository in WORKSPACE mode, where that mode asks for it.
    workspace_name: str | None = None
    # Modules that it depends on. Bazel refuses an override of a module that nothing
    # depends on, and every module graph holds the stand-ins that Bazel's own tools
    # name: what one of those depends on can be overridden everywhere.
    dependencies: tuple[str, ...] = ()
    # Files beyond an empty MODULE.bazel and BUILD.bazel: name and content.
    files: tuple[tuple[str, str], ...] = ()


_BUILDOZER_EXTENSION = '''\
"""A stand-in: `bazel mod tidy` needs the real buildozer, nothing else does."""

def _buildozer_binary_impl(_module_context):
    pass

buildozer_binary = module_extension(implementation = _buildozer_binary_impl)
'''

STAND_IN_MODULES = (
    StandInModule(
        "apple_support", ("1.23.1",), workspace_name="build_bazel_apple_support"
    ),
    StandInModule(
        "buildozer",
        ("7.1.2",),
        dependencies=("rules_pkg", "rules_shell"),
        files=(("buildozer_binary.bzl", _BUILDOZER_EXTENSION),),
    ),
    StandInModule("protobuf", ("3.19.6", "21.7"), workspace_name="com_google_protobuf"),
    StandInModule("zlib", ("1.3.1.bcr.3",)),
)
