"""The repository that holds a toolchain() for each CUDA toolkit.

MODULE.bazel and WORKSPACE name this repository alone. Its BUILD file refers to the
toolkits' repositories by label, so none is fetched before a target needs it.
"""

_TOOLCHAIN = """
toolchain(
    name = "{name}",
    target_settings = ["{setting}"],
    toolchain = "{toolkit}",
    toolchain_type = "{toolchain_type}",
)
"""

def _toolchain(name, setting, toolkit):
    return _TOOLCHAIN.format(
        name = name,
        setting = setting,
        toolkit = toolkit,
        toolchain_type = Label("//toolchains/cuda:toolchain_type"),
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
    repository_ctx.file("BUILD.bazel", "\n".join(build))

cuda_hub_repository = repository_rule(
    doc = "A repository with a toolchain() for each CUDA toolkit.",
    implementation = _cuda_hub_repository_impl,
    attrs = {
        "toolkits": attr.string_dict(
            doc = "From a toolkit's version to the repository that has it as `//:toolkit`.",
            mandatory = True,
        ),
    },
)
