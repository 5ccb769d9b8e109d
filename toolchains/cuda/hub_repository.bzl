"""The repository that holds toolchain()s for each CUDA toolkit: its headers, its NVRTC.

MODULE.bazel and WORKSPACE name this repository alone. Its BUILD file refers to the
toolkits' repositories by label, so none is fetched before a target needs it.
"""

load(":toolkits.bzl", "DEFAULT_NVRTC")

_TOOLCHAIN = """
toolchain(
    name = "{name}",
    target_settings = ["{setting}"],
    toolchain = "{toolkit}",
    toolchain_type = "{toolchain_type}",
)
"""

_DEFAULT_NVRTC = """
alias(
    name = "default_nvrtc",
    actual = "{nvrtc}",
    visibility = ["//visibility:public"],
)
"""

def _toolchain(name, setting, toolkit):
    return _TOOLCHAIN.format(
        name = name,
        setting = setting,
        toolkit = toolkit,
        toolchain_type = Label("//toolchains/cuda:toolchain_type"),
    )

def _nvrtc_toolchain(name, setting, nvrtc):
    return _TOOLCHAIN.format(
        name = "nvrtc_" + name,
        setting = setting,
        toolkit = nvrtc,
        toolchain_type = Label("//toolchains/cuda:nvrtc_toolchain_type"),
    )

def _cuda_hub_repository_impl(repository_ctx):
    build = ['"""CUDA toolkits as toolchains; written by hub_repository.bzl."""']
    for version, repository in repository_ctx.attr.toolkits.items():
        build.append(_toolchain(
            name = "cuda" + version,
            setting = Label("//toolchains/cuda:is_" + version),
            toolkit = "@{}//:toolkit".format(repository),
        ))
    for special, toolkit in {
        "custom": Label("//toolchains/cuda:checked_custom_toolkit"),
        "none": Label("//toolchains/cuda:none_toolkit"),
    }.items():
        build.append(_toolchain(
            name = special,
            setting = Label("//toolchains/cuda:is_" + special),
            toolkit = toolkit,
        ))

    nvrtc = {
        version: "@{}//:nvrtc".format(repository)
        for version, repository in repository_ctx.attr.nvrtc.items()
    }
    build.append(_DEFAULT_NVRTC.format(nvrtc = nvrtc[DEFAULT_NVRTC]))
    for version, target in nvrtc.items():
        build.append(_nvrtc_toolchain(
            name = "cuda" + version,
            setting = Label("//toolchains/cuda:is_" + version),
            nvrtc = target,
        ))
    for special, target in {
        "custom": Label("//toolchains/cuda:custom_nvrtc"),
        "none": nvrtc[DEFAULT_NVRTC],
    }.items():
        build.append(_nvrtc_toolchain(
            name = special,
            setting = Label("//toolchains/cuda:is_" + special),
            nvrtc = target,
        ))
    repository_ctx.file("BUILD.bazel", "\n".join(build))

cuda_hub_repository = repository_rule(
    doc = "A repository with the toolchain()s of each CUDA toolkit.",
    implementation = _cuda_hub_repository_impl,
    attrs = {
        "nvrtc": attr.string_dict(
            doc = "From a toolkit's version to the repository that has its NVRTC as `//:nvrtc`.",
            mandatory = True,
        ),
        "toolkits": attr.string_dict(
            doc = "From a toolkit's version to the repository that has it as `//:toolkit`.",
            mandatory = True,
        ),
    },
)
