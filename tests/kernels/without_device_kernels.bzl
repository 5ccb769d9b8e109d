"""A program as it comes out without device kernels."""

_FLAG = str(Label("//toolchains/cuda:device_kernels"))

def _transition_impl(_settings, _attr):
    return {_FLAG: False}

_transition = transition(
    implementation = _transition_impl,
    inputs = [],
    outputs = [_FLAG],
)

def _without_device_kernels_impl(ctx):
    file = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        is_executable = True,
        output = file,
        target_file = ctx.files.srcs[0],
    )
    return [DefaultInfo(
        files = depset([file]),
        runfiles = ctx.runfiles(files = [file]),
    )]

without_device_kernels = rule(
    doc = "A program, built with --//toolchains/cuda:device_kernels=false.",
    implementation = _without_device_kernels_impl,
    attrs = {
        "srcs": attr.label_list(
            doc = "The program.",
            cfg = _transition,
            mandatory = True,
        ),
        # Bazel 7 asks for it; later versions ignore it.
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
