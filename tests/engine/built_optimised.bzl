"""Files as they come out of an optimised build, whatever the build's own mode is."""

def _optimise_impl(_settings, _attr):
    return {"//command_line_option:compilation_mode": "opt"}

_optimise = transition(
    implementation = _optimise_impl,
    inputs = [],
    outputs = ["//command_line_option:compilation_mode"],
)

def _built_optimised_impl(ctx):
    placed = []
    for source in ctx.files.srcs:
        file = ctx.actions.declare_file("{}/{}".format(ctx.label.name, source.basename))
        ctx.actions.symlink(output = file, target_file = source)
        placed.append(file)
    return [DefaultInfo(
        files = depset(placed),
        runfiles = ctx.runfiles(files = placed),
    )]

built_optimised = rule(
    doc = "The files of `srcs`, built with `-c opt`, in a folder named after this target.",
    implementation = _built_optimised_impl,
    attrs = {
        "srcs": attr.label_list(
            doc = "Targets whose files are built.",
            allow_files = True,
            cfg = _optimise,
            mandatory = True,
        ),
        # Bazel 7 asks for it; later versions ignore it.
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
