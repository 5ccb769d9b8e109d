"""Files as they come out when built with a given toolkit."""

load(":toolkit_transition.bzl", "toolkit_transition")

def _built_with_toolkit_impl(ctx):
    placed = []
    for source in ctx.files.srcs:
        file = ctx.actions.declare_file("{}/{}".format(ctx.label.name, source.basename))
        ctx.actions.symlink(output = file, target_file = source)
        placed.append(file)
    return [DefaultInfo(
        files = depset(placed),
        runfiles = ctx.runfiles(files = placed),
    )]

built_with_toolkit = rule(
    doc = """\
The files of `srcs`, built with one toolkit whatever the flag says.

They lie in a folder named after this target, so that one test can hold those of several
toolkits beside one another.
""",
    implementation = _built_with_toolkit_impl,
    attrs = {
        "srcs": attr.label_list(
            doc = "Targets whose files are built.",
            allow_files = True,
            cfg = toolkit_transition,
            mandatory = True,
        ),
        "toolkit": attr.string(
            doc = "Value of the flag //toolchains/cuda:toolkit: a version or \"none\".",
            mandatory = True,
        ),
        # Bazel 7 asks for it; later versions ignore it.
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
