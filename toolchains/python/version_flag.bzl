"""The flag that selects a version of Python, and what its missing ones are."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

def _python_version_flag_impl(ctx):
    value = ctx.build_setting_value
    if value not in ctx.attr.values:
        fail("kvswap: no Python \"{}\": {} is one of {}".format(
            value,
            ctx.label,
            ", ".join(ctx.attr.values),
        ))
    return []

python_version_flag = rule(
    doc = "The string flag that selects a version of Python.",
    implementation = _python_version_flag_impl,
    attrs = {
        "values": attr.string_list(
            doc = "Allowed values.",
            mandatory = True,
        ),
    },
    build_setting = config.string(flag = True),
)

def _missing_python_headers_impl(ctx):
    fail(("kvswap: no Python {} with C headers was found on this machine. Put a python{} that has them on the " +
          "PATH, or name it: --repo_env=KVSWAP_PYTHONS=/path/to/python{}").format(
        ctx.attr.version,
        ctx.attr.version,
        ctx.attr.version,
    ))

missing_python_headers = rule(
    doc = "Stands for the headers of a Python that the machine lacks: an error that says so.",
    implementation = _missing_python_headers_impl,
    attrs = {
        "version": attr.string(
            doc = "As \"3.12\".",
            mandatory = True,
        ),
    },
    provides = [CcInfo],
)

def _python_version_transition_impl(_settings, attr):
    flag = str(Label("//toolchains/python:version"))
    return {version: {flag: version} for version in attr.python_versions}

_python_version_transition = transition(
    implementation = _python_version_transition_impl,
    inputs = [],
    outputs = [str(Label("//toolchains/python:version"))],
)

def _for_each_python_impl(ctx):
    files = depset(transitive = [target[DefaultInfo].files for target in ctx.attr.srcs])
    return [DefaultInfo(
        files = files,
        runfiles = ctx.runfiles(transitive_files = files),
    )]

for_each_python = rule(
    doc = "The files of `srcs`, built once for each of several versions of Python.",
    implementation = _for_each_python_impl,
    attrs = {
        "python_versions": attr.string_list(
            doc = "Values of //toolchains/python:version.",
            mandatory = True,
        ),
        "srcs": attr.label_list(
            doc = "Targets whose files differ by the version.",
            cfg = _python_version_transition,
            mandatory = True,
        ),
        # Bazel 7 asks for it; later versions ignore it.
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
