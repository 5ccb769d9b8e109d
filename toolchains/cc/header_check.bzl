"""Whether a library has a header that is needed, told before anything is compiled."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

def _include_folders(compilation_context):
    """The folders in which `#include <…>` looks."""
    return depset(transitive = [
        compilation_context.includes,
        compilation_context.system_includes,
        # Bazel 9 keeps what `includes` of other repositories names apart.
        getattr(compilation_context, "external_includes", depset()),
    ]).to_list()

def label_text(label):
    """A label as its user writes it.

    Args:
      label: a Label

    Returns:
      "//:library" where Bazel prints "@@//:library"
    """
    text = str(label)
    return text.removeprefix("@@") if text.startswith("@@//") else text

def missing_header(target, header):
    """What is wrong with a target that is to have a header on its include path.

    Args:
      target: a Target.
      header: as it is included, "pybind11/pybind11.h".

    Returns:
      the end of a sentence whose subject is the target; None: nothing is wrong
    """
    if CcInfo not in target:
        return "is no cc_library"
    compilation_context = target[CcInfo].compilation_context
    files = compilation_context.headers.to_list()
    folders = [
        file.path.removesuffix(header).removesuffix("/") or "."
        for file in files
        if file.path == header or file.path.endswith("/" + header)
    ]
    include_folders = _include_folders(compilation_context)
    if [folder for folder in folders if folder in include_folders]:
        return None
    if [file for file in files if file.is_directory]:
        # What is in a folder that an action makes is not known yet.
        return None
    if folders:
        return "holds {} in {}, which is not on its include path: add `includes`".format(header, folders[0])
    return "has no {} among its headers".format(header)
