"""Module extensions: the repositories of repositories.bzl, in module mode."""

load(
    "//toolchains:repositories.bzl",
    "buildifier_repositories",
    "cuda_repositories",
    "python_dev_repositories",
    "python_headers_repositories",
    "release_compiler_repositories",
)

def _metadata(module_ctx):
    # What an extension declares follows from this module's own files alone, so
    # lock files need not record it.
    return module_ctx.extension_metadata(reproducible = True)

def _cuda_toolkits_impl(module_ctx):
    cuda_repositories()
    return _metadata(module_ctx)

cuda_toolkits = module_extension(
    doc = "@kvswap_cuda: the toolchains of all CUDA toolkits.",
    implementation = _cuda_toolkits_impl,
)

def _python_headers_impl(module_ctx):
    python_headers_repositories()
    return _metadata(module_ctx)

python_headers = module_extension(
    doc = "@kvswap_python and @kvswap_pybind11: headers for extension modules.",
    implementation = _python_headers_impl,
)

def _buildifier_dev_impl(module_ctx):
    buildifier_repositories()
    return _metadata(module_ctx)

buildifier_dev = module_extension(
    doc = "@kvswap_buildifier: the program that checks kvswap's own BUILD files.",
    implementation = _buildifier_dev_impl,
)

def _python_dev_impl(module_ctx):
    python_dev_repositories()
    return _metadata(module_ctx)

python_dev = module_extension(
    doc = "@kvswap_python_dev: the Python that kvswap's own tests run on.",
    implementation = _python_dev_impl,
)

def _release_compiler_impl(module_ctx):
    release_compiler_repositories()
    return _metadata(module_ctx)

release_compiler = module_extension(
    doc = "@kvswap_release_compiler_x86_64 and the like: the C++ compiler of releases.",
    implementation = _release_compiler_impl,
)
