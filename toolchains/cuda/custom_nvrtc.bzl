"""The NVRTC that a custom toolkit may bring."""

load(":nvrtc.bzl", "NvrtcInfo")
load(":toolkit.bzl", "CudaToolkitInfo")

def _nvrtc_of_toolkit_impl(ctx):
    nvrtc = ctx.attr.toolkit[CudaToolkitInfo].nvrtc
    return [
        DefaultInfo(files = depset([nvrtc.library, nvrtc.builtins])),
        platform_common.ToolchainInfo(nvrtc = nvrtc),
        nvrtc,
    ]

nvrtc_of_toolkit = rule(
    doc = "The NVRTC that a toolkit brings.",
    implementation = _nvrtc_of_toolkit_impl,
    attrs = {
        "toolkit": attr.label(
            doc = "A cuda_toolkit with `nvrtc`.",
            mandatory = True,
            providers = [CudaToolkitInfo],
        ),
    },
    provides = [NvrtcInfo, platform_common.ToolchainInfo],
)

def _toolkit_brings_nvrtc_impl(ctx):
    nvrtc = ctx.attr.toolkit[CudaToolkitInfo].nvrtc
    return [config_common.FeatureFlagInfo(value = "yes" if nvrtc else "no")]

toolkit_brings_nvrtc = rule(
    doc = "For a config_setting: whether a toolkit brings its NVRTC, \"yes\" or \"no\".",
    implementation = _toolkit_brings_nvrtc_impl,
    attrs = {
        "toolkit": attr.label(
            doc = "A cuda_toolkit.",
            mandatory = True,
            providers = [CudaToolkitInfo],
        ),
    },
)
