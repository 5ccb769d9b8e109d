"""CUDA toolkits: the provider, and rules to define, select and use one."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//toolchains/cc:header_check.bzl", "label_text", "missing_header")
load(":nvrtc.bzl", "NvrtcInfo")
load(":toolkits.bzl", "NO_TOOLKIT", "cuda_version_number", "is_toolkit_version")

CudaToolkitInfo = provider(
    doc = """\
A CUDA toolkit. Toolchains of type //toolchains/cuda:toolchain_type carry it as `cuda`.

Of kvswap's own toolkits these are the headers alone: who compiles host code should not
download a device compiler. That is a toolchain of its own, //toolchains/cuda:nvrtc_toolchain_type.
""",
    fields = {
        "cuda_version": "CUDA_VERSION of its <cuda.h>, as 12040; 0: no toolkit.",
        "headers": "CcInfo with the include path of <cuda.h>.",
        "nvrtc": "NvrtcInfo of a custom toolkit that brings one; else None.",
        "version": "\"12.4\", or \"none\".",
    },
)

def _toolkit_providers(version, cuda_version, headers, files, nvrtc = None):
    toolkit = CudaToolkitInfo(
        cuda_version = cuda_version,
        headers = headers,
        nvrtc = nvrtc,
        version = version,
    )
    return [
        DefaultInfo(files = files),
        platform_common.ToolchainInfo(cuda = toolkit),
        toolkit,
    ]

def _cuda_toolkit_impl(ctx):
    if not is_toolkit_version(ctx.attr.version):
        fail("kvswap: cuda_toolkit {}: version \"{}\" is not of the form \"12.4\"".format(
            label_text(ctx.label),
            ctx.attr.version,
        ))
    for header in ["cuda.h", "cudaTypedefs.h"]:
        problem = missing_header(ctx.attr.headers, header)
        if problem:
            fail(("kvswap: `headers` of the cuda_toolkit {} is {}, which {}. " +
                  "It needs a cc_library with <{}> on its include path").format(
                label_text(ctx.label),
                label_text(ctx.attr.headers.label),
                problem,
                header,
            ))
    nvrtc = None
    if ctx.attr.nvrtc:
        if NvrtcInfo not in ctx.attr.nvrtc:
            fail(("kvswap: `nvrtc` of the cuda_toolkit {} is {}, which is no cuda_nvrtc. " +
                  "Define one around the libraries: load(\"@kvswap//toolchains/cuda:nvrtc.bzl\", \"cuda_nvrtc\")").format(
                label_text(ctx.label),
                label_text(ctx.attr.nvrtc.label),
            ))
        nvrtc = ctx.attr.nvrtc[NvrtcInfo]
    return _toolkit_providers(
        version = ctx.attr.version,
        cuda_version = cuda_version_number(ctx.attr.version),
        headers = ctx.attr.headers[CcInfo],
        files = ctx.attr.headers[DefaultInfo].files,
        nvrtc = nvrtc,
    )

cuda_toolkit = rule(
    doc = """\
A CUDA toolkit.

kvswap defines one for each entry of toolkits.bzl. For a toolkit of your own define
one around a cc_library of its headers. Then either select it as the custom toolkit,

    --@kvswap//toolchains/cuda:toolkit=custom
    --@kvswap//toolchains/cuda:custom_toolkit=//your:toolkit

or let it take the place of the wheel of a version that kvswap knows, in the ABI matrix
too: register, ahead of kvswap's, a `toolchain()` of type
`@kvswap//toolchains/cuda:toolchain_type` whose `target_settings` are
`["@kvswap//toolchains/cuda:is_12.8"]`.
""",
    implementation = _cuda_toolkit_impl,
    attrs = {
        "headers": attr.label(
            doc = "A cc_library with <cuda.h> and <cudaTypedefs.h> on its include path.",
            mandatory = True,
        ),
        "nvrtc": attr.label(
            doc = "A cuda_nvrtc that compiles the device kernels when this is the custom toolkit. " +
                  "Without, that of kvswap's default toolkit does.",
        ),
        "version": attr.string(
            doc = "Major and minor version, as \"12.4\".",
            mandatory = True,
        ),
    },
    provides = [CudaToolkitInfo, platform_common.ToolchainInfo],
)

def _no_cuda_toolkit_impl(_ctx):
    return _toolkit_providers(
        version = NO_TOOLKIT,
        cuda_version = 0,
        headers = CcInfo(),
        files = depset(),
    )

no_cuda_toolkit = rule(
    doc = "The absence of a toolkit, so that everything can be analysed without one.",
    implementation = _no_cuda_toolkit_impl,
    provides = [CudaToolkitInfo, platform_common.ToolchainInfo],
)

def _unset_cuda_toolkit_impl(_ctx):
    fail("kvswap: --@kvswap//toolchains/cuda:toolkit=custom needs a cuda_toolkit target: " +
         "--@kvswap//toolchains/cuda:custom_toolkit=//your:toolkit")

unset_cuda_toolkit = rule(
    doc = "Default of the label flag custom_toolkit: an error that says so.",
    implementation = _unset_cuda_toolkit_impl,
    provides = [CudaToolkitInfo, platform_common.ToolchainInfo],
)

def _custom_cuda_toolkit_impl(ctx):
    toolkit = ctx.attr.toolkit
    if CudaToolkitInfo not in toolkit:
        fail(("kvswap: --@kvswap//toolchains/cuda:custom_toolkit points to {}, which is no cuda_toolkit. " +
              "Define one around the headers: load(\"@kvswap//toolchains/cuda:toolkit.bzl\", \"cuda_toolkit\")").format(
            label_text(toolkit.label),
        ))
    return [
        toolkit[DefaultInfo],
        toolkit[platform_common.ToolchainInfo],
        toolkit[CudaToolkitInfo],
    ]

custom_cuda_toolkit = rule(
    doc = "The toolkit that the label flag custom_toolkit points to.",
    implementation = _custom_cuda_toolkit_impl,
    attrs = {
        "toolkit": attr.label(
            doc = "The label_flag.",
            mandatory = True,
        ),
    },
    provides = [CudaToolkitInfo, platform_common.ToolchainInfo],
)

def _cuda_toolkit_flag_impl(ctx):
    value = ctx.build_setting_value
    if value not in ctx.attr.values:
        fail("kvswap: no CUDA toolkit \"{}\". //toolchains/cuda:toolkit is one of {}. docs/adding_a_toolkit.md adds one.".format(
            value,
            ", ".join(ctx.attr.values),
        ))
    return []

cuda_toolkit_flag = rule(
    doc = "The string flag that selects a toolkit.",
    implementation = _cuda_toolkit_flag_impl,
    attrs = {
        "values": attr.string_list(
            doc = "Allowed values.",
            mandatory = True,
        ),
    },
    build_setting = config.string(flag = True),
)

def _current_cuda_headers_impl(ctx):
    toolkit = ctx.toolchains[Label("//toolchains/cuda:toolchain_type")].cuda
    return [
        DefaultInfo(files = toolkit.headers.compilation_context.headers),
        toolkit.headers,
        toolkit,
    ]

current_cuda_headers = rule(
    doc = """\
The selected toolkit's headers, as a dependency of cc_ rules.

Without a toolkit there is no <cuda.h>: give targets that need one
`target_compatible_with = NEEDS_CUDA_TOOLKIT`, and `//...` skips them.
""",
    implementation = _current_cuda_headers_impl,
    provides = [CcInfo, CudaToolkitInfo],
    toolchains = [Label("//toolchains/cuda:toolchain_type")],
)

# For `target_compatible_with`: the target makes sense with a toolkit only.
NEEDS_CUDA_TOOLKIT = select({
    Label("//toolchains/cuda:is_none"): [Label("@platforms//:incompatible")],
    "//conditions:default": [],
})
