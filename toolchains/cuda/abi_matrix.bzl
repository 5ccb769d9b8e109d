"""The ABI matrix: one test, built and run once per CUDA toolkit.

    load("@kvswap//toolchains/cuda:abi_matrix.bzl", "abi_matrix_cc_test")

    abi_matrix_cc_test(
        name = "imports_test",
        srcs = ["imports_test.cc"],
        deps = [...],
    )

makes `imports_test_cuda12.4`, `imports_test_cuda12.8`, `imports_test_cuda13.0` and
the test_suite `imports_test` of the three. In each, the test and everything it depends
on is built with `--//toolchains/cuda:toolkit` set to that toolkit, and the test finds
it in the environment as KVSWAP_MATRIX_TOOLKIT.

Where the flag is set on the command line, only that toolkit's row is left: the other
tests are incompatible and skipped.

Toolkits whose entry in toolkits.bzl says `matrix = False` get their tests too, tagged
`manual`, outside the suite: further_toolkits_suite gathers them.
"""

load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//toolchains/python:pytest_test.bzl", "pytest_test")
load(":toolkit_transition.bzl", "toolkit_transition")
load(":toolkits.bzl", "toolkits_between")

_FURTHER_TAG = "cuda_further_toolkit"

def _toolkit_test_impl(ctx):
    # A transition makes a list even of a single label.
    test = ctx.attr.test[0]
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(
        is_executable = True,
        output = executable,
        target_file = test[DefaultInfo].files_to_run.executable,
    )
    runfiles = ctx.runfiles(files = [executable]).merge_all(
        [test[DefaultInfo].default_runfiles] +
        [data[DefaultInfo].default_runfiles for data in ctx.attr.data],
    )

    environment = {"KVSWAP_MATRIX_TOOLKIT": ctx.attr.toolkit}
    inherited = []
    if RunEnvironmentInfo in test:
        environment = test[RunEnvironmentInfo].environment | environment
        inherited = test[RunEnvironmentInfo].inherited_environment

    providers = [
        DefaultInfo(
            executable = executable,
            runfiles = runfiles,
        ),
        RunEnvironmentInfo(
            environment = environment,
            inherited_environment = inherited,
        ),
        coverage_common.instrumented_files_info(ctx, dependency_attributes = ["test"]),
    ]
    if testing.ExecutionInfo in test:
        providers.append(test[testing.ExecutionInfo])
    return providers

_toolkit_test = rule(
    doc = "Runs a test as it is when built with one toolkit.",
    implementation = _toolkit_test_impl,
    attrs = {
        "data": attr.label_list(
            doc = "What `$(rootpath …)` in `args` refers to.",
            allow_files = True,
            cfg = toolkit_transition,
        ),
        "test": attr.label(
            doc = "The test.",
            cfg = toolkit_transition,
            executable = True,
            mandatory = True,
        ),
        "toolkit": attr.string(
            doc = "Version of the toolkit, as \"12.4\".",
            mandatory = True,
        ),
        # Bazel 7 asks for it; later versions ignore it.
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    test = True,
)

def abi_matrix_test(
        name,
        test,
        since = None,
        before = None,
        args = [],
        data = [],
        tags = [],
        target_compatible_with = [],
        visibility = None,
        **kwargs):
    """Runs an existing test once per toolkit.

    Args:
      name: name of the suite, and of the tests before `_cuda<version>`.
      test: label of the test. Tag it `manual`, or `//...` runs it without a toolkit too.
      since: the first toolkit that the test is for, as "12.8"; None: the oldest.
      before: the first toolkit that it is no longer for; None: to the newest.
      args: arguments of the test. Those in `test`'s own `args` are not seen here.
      data: what `$(rootpath …)` in `args` refers to.
      tags: tags of the tests, besides `abi_matrix` and `cuda<version>`.
      target_compatible_with: constraints of the tests.
      visibility: visibility of the tests and the suite.
      **kwargs: what else a test has: size, timeout, flaky, local, … Tests of the
        matrix are not sharded.
    """
    if kwargs.pop("shard_count", None):
        fail("abi_matrix_test {}: tests of the matrix are not sharded".format(name))
    tests = []
    for toolkit in toolkits_between(since, before):
        toolkit_name = "{}_cuda{}".format(name, toolkit.version)
        if toolkit.matrix:
            tests.append(toolkit_name)
        _toolkit_test(
            name = toolkit_name,
            args = args,
            data = data,
            tags = tags + ["abi_matrix", "cuda" + toolkit.version] +
                   ([] if toolkit.matrix else ["manual", _FURTHER_TAG]),
            target_compatible_with = target_compatible_with + select({
                Label("//toolchains/cuda:is_none"): [],
                Label("//toolchains/cuda:is_" + toolkit.version): [],
                "//conditions:default": [Label("@platforms//:incompatible")],
            }),
            test = test,
            toolkit = toolkit.version,
            visibility = visibility,
            **kwargs
        )
    native.test_suite(
        name = name,
        tests = tests,
        visibility = visibility,
    )

# Attributes that make the test itself; all others of a macro go to the tests of the
# matrix.
_CC_TEST_ATTRIBUTES = [
    "additional_linker_inputs",
    "conlyopts",
    "copts",
    "cxxopts",
    "defines",
    "deps",
    "dynamic_deps",
    "env",
    "env_inherit",
    "features",
    "includes",
    "linkopts",
    "linkstatic",
    "local_defines",
    "malloc",
    "srcs",
]

_PYTEST_TEST_ATTRIBUTES = [
    "deps",
    "env",
    "env_inherit",
    "imports",
]

def _inner_test(macro, name, inner_attributes, attributes, **kwargs):
    """Makes the test with its own attributes and returns the remaining ones."""
    own = {
        attribute: attributes.pop(attribute)
        for attribute in inner_attributes
        if attribute in attributes
    }
    macro(
        name = name,
        tags = ["manual"],
        visibility = ["//visibility:private"],
        **(own | kwargs)
    )
    return attributes

def abi_matrix_cc_test(name, args = [], data = [], **kwargs):
    """A cc_test that is built and run once per toolkit.

    Args:
      name: name of the suite, and of the tests before `_cuda<version>`.
      args: arguments of the test.
      data: files that it needs when it runs.
      **kwargs: attributes of cc_test, and of abi_matrix_test.
    """
    inner = name + "_inner"
    rest = _inner_test(cc_test, inner, _CC_TEST_ATTRIBUTES, kwargs, data = data)
    abi_matrix_test(
        name = name,
        args = args,
        data = data,
        test = ":" + inner,
        **rest
    )

def abi_matrix_py_test(name, srcs, args = [], data = [], **kwargs):
    """A pytest test that is built and run once per toolkit.

    Args:
      name: name of the suite, and of the tests before `_cuda<version>`.
      srcs: as in pytest_test.
      args: arguments of pytest.
      data: files that it needs when it runs.
      **kwargs: attributes of pytest_test, and of abi_matrix_test.
    """
    inner = name + "_inner"
    rest = _inner_test(pytest_test, inner, _PYTEST_TEST_ATTRIBUTES, kwargs, srcs = srcs, data = data)
    abi_matrix_test(
        name = name,
        args = args,
        data = data,
        test = ":" + inner,
        **rest
    )

def further_toolkits_suite(name, tests = [], **kwargs):
    """A test_suite of this package's tests for toolkits outside the matrix.

    Stands at the end of a BUILD file: it gathers what was declared before it. Like its
    tests it is `manual`: `bazel test //...` leaves it out.

    Args:
      name: name of the suite.
      tests: further tests or suites, of other packages.
      **kwargs: other attributes of test_suite.
    """
    native.test_suite(
        name = name,
        tags = ["manual"],
        tests = tests + [
            rule["name"]
            for rule in native.existing_rules().values()
            if _FURTHER_TAG in rule["tags"]
        ],
        **kwargs
    )
