"""Hash-locked wheels, unpacked, as an external repository."""

load("//toolchains/python:interpreter.bzl", "PYTHON_VARIABLE")
load(":wheel_download.bzl", "unpack_wheels")

def _wheel_repository_impl(repository_ctx):
    unpack_wheels(repository_ctx, repository_ctx.attr.lock, repository_ctx.attr.timeout)
    repository_ctx.file("BUILD.bazel", repository_ctx.attr.build_file_content)

wheel_repository = repository_rule(
    doc = "A repository that holds the unpacked wheels of a lock file.",
    implementation = _wheel_repository_impl,
    attrs = {
        "build_file_content": attr.string(
            doc = "Text of the BUILD file at the root of the unpacked wheels.",
            mandatory = True,
        ),
        "lock": attr.label(
            doc = "A pip requirements file; every line pins a version and its hashes, one for each platform.",
            mandatory = True,
            allow_single_file = True,
        ),
        "timeout": attr.int(
            doc = "Seconds that the download may take.",
            default = 1800,
        ),
    },
    environ = [PYTHON_VARIABLE],
)
