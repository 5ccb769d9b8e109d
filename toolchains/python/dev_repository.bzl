"""The Python that kvswap's own tests run on: a virtual environment in a repository.

Tests use the environment's interpreter by its path, so a test costs what its
imports cost; the thousands of files of NumPy and torch are no inputs of actions.
What must cause a new environment is declared to Bazel instead: the requirements
and the variables below. The path is made from the same, so that results of tests in
another environment are not taken for this one's.
"""

load(":interpreter.bzl", "PYTHON_VARIABLE", "find_python", "last_line")

# --config=without_torch leaves torch out; tests that need it are then incompatible and
# skipped.
_TORCH_VARIABLE = "KVSWAP_TORCH"

_BUILD = """\
load("{cc_library_bzl}", "cc_library")
load("{py_runtime_bzl}", "py_runtime")
load("{py_runtime_pair_bzl}", "py_runtime_pair")

py_runtime(
    name = "runtime",
    interpreter_path = "{interpreter}",
    python_version = "PY3",
    # Actions and tests see a PATH on which python3 need not be.
    stub_shebang = "#!{interpreter}",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
    visibility = ["//visibility:public"],
)
"""

# Those of the stable API alone: a compilation declares what it may read, and torch has
# thousands of headers.
_TORCH_HEADERS = """
cc_library(
    name = "torch_headers",
    hdrs = glob([
        "{include}/torch/csrc/inductor/aoti_torch/c/*.h",
        "{include}/torch/csrc/stable/**/*.h",
        "{include}/torch/headeronly/**/*.h",
    ]),
    includes = ["{include}"],
    visibility = ["//visibility:public"],
)
"""

_NO_TORCH_HEADERS = """
cc_library(
    name = "torch_headers",
    target_compatible_with = ["{incompatible}"],
    visibility = ["//visibility:public"],
)
"""

_SETTINGS = """\
\"\"\"What the development Python has; written by dev_repository.bzl.\"\"\"

HAS_TORCH = {has_torch}
"""

# Prints a name that says which environment it is: Python and all requirements.
_NAME = """
import hashlib, pathlib, sys
name = hashlib.sha256((sys.version + sys.base_prefix).encode())
for requirements in sys.argv[1:]:
    name.update(b"\\0" + pathlib.Path(requirements).read_bytes())
print("venv-" + name.hexdigest()[:16])
"""

def _execute(repository_ctx, what, arguments):
    result = repository_ctx.execute(arguments)
    if result.return_code != 0:
        fail("kvswap: {} {}: {}".format(
            arguments[0],
            what,
            last_line(result.stderr + result.stdout),
        ))
    return result.stdout.strip()

def _install(repository_ctx, python, environment, requirements, arguments, advice):
    repository_ctx.report_progress("pip install -r {}".format(requirements.basename))
    result = repository_ctx.execute(
        [
            python,
            "-m",
            "pip",
            "--python",
            environment,
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--no-warn-script-location",
            "--only-binary=:all:",
            "--requirement",
            requirements,
        ] + arguments,
        timeout = repository_ctx.attr.timeout,
    )
    if result.return_code != 0:
        fail("kvswap: pip cannot install {}: {}. {}".format(
            requirements.basename,
            last_line(result.stderr),
            advice,
        ))

def _python_dev_repository_impl(repository_ctx):
    python = find_python(repository_ctx)
    requirements = repository_ctx.path(repository_ctx.attr.requirements)
    torch_requirements = repository_ctx.path(repository_ctx.attr.torch_requirements)
    has_torch = repository_ctx.os.environ.get(_TORCH_VARIABLE, "") != "none"

    name = _execute(
        repository_ctx,
        "does not run",
        [python, "-c", _NAME, requirements] + ([torch_requirements] if has_torch else []),
    )
    repository_ctx.report_progress("python3 -m venv")
    _execute(
        repository_ctx,
        "cannot make a virtual environment",
        [python, "-m", "venv", "--without-pip", name],
    )
    environment = repository_ctx.path(name + "/bin/python3")

    _install(
        repository_ctx,
        python,
        environment,
        requirements,
        ["--require-hashes", "--no-deps"],
        "pip 22.3 or newer and Python 3.10 to 3.14 are needed, and an index that pip reaches " +
        "(`python3 -m pip config list`).",
    )
    if has_torch:
        _install(
            repository_ctx,
            python,
            environment,
            torch_requirements,
            [],
            "Without torch, and without the tests that need it: --config=without_torch",
        )

    torch_headers = _NO_TORCH_HEADERS.format(incompatible = Label("@platforms//:incompatible"))
    if has_torch:
        site_packages = _execute(
            repository_ctx,
            "does not tell its folders",
            [environment, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"],
        )
        top = str(repository_ctx.path("."))
        torch_headers = _TORCH_HEADERS.format(
            include = site_packages.removeprefix(top + "/") + "/torch/include",
        )

    repository_ctx.file("settings.bzl", _SETTINGS.format(has_torch = has_torch))
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        cc_library_bzl = Label("@rules_cc//cc:cc_library.bzl"),
        interpreter = environment,
        py_runtime_bzl = Label("@rules_python//python:py_runtime.bzl"),
        py_runtime_pair_bzl = Label("@rules_python//python:py_runtime_pair.bzl"),
    ) + torch_headers)

python_dev_repository = repository_rule(
    doc = """\
A virtual environment of the machine's Python: its `//:runtime_pair`, and `//:torch_headers`,
the headers of its torch.
""",
    implementation = _python_dev_repository_impl,
    attrs = {
        "requirements": attr.label(
            doc = "A pip requirements file that is complete and has hashes.",
            mandatory = True,
            allow_single_file = True,
        ),
        "timeout": attr.int(
            doc = "Seconds that an installation may take.",
            default = 3600,
        ),
        "torch_requirements": attr.label(
            doc = "A pip requirements file for torch.",
            mandatory = True,
            allow_single_file = True,
        ),
    },
    environ = [
        PYTHON_VARIABLE,
        _TORCH_VARIABLE,
    ],
)
