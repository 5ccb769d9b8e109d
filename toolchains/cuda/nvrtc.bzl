"""NVRTC, the compiler of device code: the provider, and the rule that defines one."""

load("//toolchains/cc:header_check.bzl", "label_text")
load(":toolkits.bzl", "OLDEST_NVRTC", "cuda_version_number", "is_toolkit_version")

NvrtcInfo = provider(
    doc = """\
NVRTC of a CUDA toolkit. Toolchains of type //toolchains/cuda:nvrtc_toolchain_type carry
it as `nvrtc`.
""",
    fields = {
        "builtins": "File libnvrtc-builtins.so.*, which the library loads.",
        "library": "File libnvrtc.so.*.",
        "version": "\"12.4\".",
    },
)

def _only_file(ctx, prefix):
    """The one of `libraries` whose name begins so."""
    files = [file for file in ctx.files.libraries if file.basename.startswith(prefix)]
    if len(files) != 1:
        fail("kvswap: `libraries` of the cuda_nvrtc {} have {} named {}*: it needs libnvrtc.so.* and libnvrtc-builtins.so.* of one toolkit, each once".format(
            label_text(ctx.label),
            "more than one file" if files else "no file",
            prefix,
        ))
    return files[0]

def _cuda_nvrtc_impl(ctx):
    version = ctx.attr.version
    if not is_toolkit_version(version):
        fail("kvswap: cuda_nvrtc {}: version \"{}\" is not of the form \"12.4\"".format(
            label_text(ctx.label),
            version,
        ))
    if cuda_version_number(version) < cuda_version_number(OLDEST_NVRTC):
        fail(("kvswap: the cuda_nvrtc {} is of CUDA {}, which cannot compile kvswap's kernels. " +
              "It takes NVRTC of CUDA {} or newer; --@kvswap//toolchains/cuda:device_kernels=false does without kernels").format(
            label_text(ctx.label),
            version,
            OLDEST_NVRTC,
        ))
    nvrtc = NvrtcInfo(
        builtins = _only_file(ctx, "libnvrtc-builtins.so"),
        library = _only_file(ctx, "libnvrtc.so"),
        version = version,
    )
    return [
        DefaultInfo(files = depset([nvrtc.library, nvrtc.builtins])),
        platform_common.ToolchainInfo(nvrtc = nvrtc),
        nvrtc,
    ]

cuda_nvrtc = rule(
    doc = """\
NVRTC of a CUDA toolkit.

It compiles kvswap's device kernels, on the machine that builds. kvswap defines one for
each entry of toolkits.bzl; one of your own is the `nvrtc` of your cuda_toolkit.
""",
    implementation = _cuda_nvrtc_impl,
    attrs = {
        "libraries": attr.label_list(
            doc = "libnvrtc.so.* and libnvrtc-builtins.so.*, for the machine that builds.",
            allow_files = True,
            cfg = "exec",
            mandatory = True,
        ),
        "version": attr.string(
            doc = "Major and minor version, as \"12.4\".",
            mandatory = True,
        ),
    },
    provides = [NvrtcInfo, platform_common.ToolchainInfo],
)
