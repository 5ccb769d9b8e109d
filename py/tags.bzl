"""Parts of the wheels' names that follow from how they are built."""

load("@kvswap_python//:pythons.bzl", "MACHINE_VERSION")
load("//toolchains/cc/release:targets.bzl", "RELEASE_TARGETS")
load("//toolchains/python:versions.bzl", "PYTHON_VERSIONS")

def select_by_python(text):
    """A select() on the version of Python that the module is compiled for.

    Args:
      text: what to select, with {} for the version without its point, as "311".

    Returns:
      a select()
    """
    branches = {"//conditions:default": text.format(MACHINE_VERSION.replace(".", ""))}
    for version in PYTHON_VERSIONS:
        branches["//toolchains/python:is_" + version] = text.format(version.replace(".", ""))
    return select(branches)

def platform_tag():
    """The wheels' platform tag: a promise for releases, else this machine's kind alone.

    Returns:
      a select()
    """
    branches = {}
    for target in RELEASE_TARGETS:
        branches["//toolchains/cc/release:is_release_" + target.cpu] = target.platform_tag
        branches[":is_local_" + target.cpu] = "linux_" + target.cpu
    return select(branches, no_match_error = "kvswap: wheels are made for Linux on {}".format(
        " and ".join([target.cpu for target in RELEASE_TARGETS]),
    ))

def cpu():
    """The CPU that is compiled for, as in the names of extension modules.

    Returns:
      a select()
    """
    return select({
        "@platforms//cpu:" + target.cpu: target.cpu
        for target in RELEASE_TARGETS
    })
