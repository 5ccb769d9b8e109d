"""Tests of whether a source compiles, and of what the compiler says where it does not."""

load("@rules_cc//cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "CC_TOOLCHAIN_TYPE", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# $1: where the compiler's exit status goes; $2: where its output goes; then the
# compiler's command line. Succeeds whatever the compiler does: the test judges.
_RECORD = """\
status_file=$1
diagnostics_file=$2
shift 2
LC_ALL=C "$@" >"$diagnostics_file" 2>&1
echo $? >"$status_file"
"""

_TEST = """\
#!/bin/bash
# Judges a recorded compilation; written by compile_outcome_test.bzl.
set -eu
status=$(cat {status})
echo "expected: {source} {outcome}; the compiler's exit status was $status"
echo "its output:"
cat {diagnostics}
if [[ {outcome} == compiles ]]; then
  exec [ "$status" = 0 ]
fi
if [[ "$status" = 0 ]]; then
  echo "FAILED: it compiled"
  exit 1
fi
if ! grep --quiet --fixed-strings {patterns} {diagnostics}; then
  echo "FAILED: it did not compile, but not for the expected reason:" {patterns}
  exit 1
fi
"""

def _quote(text):
    return "'" + text.replace("'", "'\\''") + "'"

def _compile_outcome_test_impl(ctx):
    if (ctx.attr.outcome == "fails") != bool(ctx.attr.errors):
        fail("`errors` are needed where `outcome` is \"fails\", and there alone")

    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = cc_toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compilation_context = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    source = ctx.file.src
    object_path = "/dev/null"
    variables = cc_common.create_compile_variables(
        cc_toolchain = cc_toolchain,
        feature_configuration = features,
        include_directories = compilation_context.includes,
        output_file = object_path,
        preprocessor_defines = compilation_context.defines,
        quote_include_directories = compilation_context.quote_includes,
        source_file = source.path,
        system_include_directories = depset(
            transitive = [
                compilation_context.system_includes,
                # Bazel 9 keeps what `includes` of other repositories names apart.
                getattr(compilation_context, "external_includes", depset()),
            ],
        ),
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts,
    )
    command_line = cc_common.get_memory_inefficient_command_line(
        action_name = CPP_COMPILE_ACTION_NAME,
        feature_configuration = features,
        variables = variables,
    )

    status = ctx.actions.declare_file(ctx.label.name + ".status")
    diagnostics = ctx.actions.declare_file(ctx.label.name + ".diagnostics")
    arguments = ctx.actions.args()
    arguments.add_all([status, diagnostics])
    arguments.add(cc_common.get_tool_for_action(
        action_name = CPP_COMPILE_ACTION_NAME,
        feature_configuration = features,
    ))
    arguments.add_all(command_line)
    ctx.actions.run_shell(
        arguments = [arguments],
        command = _RECORD,
        env = cc_common.get_environment_variables(
            action_name = CPP_COMPILE_ACTION_NAME,
            feature_configuration = features,
            variables = variables,
        ),
        inputs = depset(
            [source],
            transitive = [compilation_context.headers, cc_toolchain.all_files],
        ),
        mnemonic = "CompileOutcome",
        outputs = [status, diagnostics],
        progress_message = "Compiling %{label}, which may fail",
        toolchain = CC_TOOLCHAIN_TYPE,
    )

    test = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        content = _TEST.format(
            diagnostics = _quote(diagnostics.short_path),
            outcome = ctx.attr.outcome,
            patterns = " ".join(["--regexp=" + _quote(error) for error in ctx.attr.errors]),
            source = source.short_path,
            status = _quote(status.short_path),
        ),
        is_executable = True,
        output = test,
    )
    return [DefaultInfo(
        executable = test,
        runfiles = ctx.runfiles(files = [status, diagnostics]),
    )]

compile_outcome_test = rule(
    doc = """\
Compiles a C++ source with the toolchain's compiler and checks the outcome.

A source that is to be refused is refused for the stated reason, or the test fails: give
each such test a control that differs in nothing but the mistake and compiles. `outcome`
and `errors` may be select()s, so that abi_matrix_test can state them per toolkit.
""",
    implementation = _compile_outcome_test_impl,
    attrs = {
        "copts": attr.string_list(
            doc = "Compiler options.",
        ),
        "deps": attr.label_list(
            doc = "cc_ targets whose headers, include paths and defines the source uses. " +
                  "Include paths are searched in this order.",
            providers = [CcInfo],
        ),
        "errors": attr.string_list(
            doc = "Where `outcome` is \"fails\": texts of which the diagnostics must hold at " +
                  "least one. More than one only because compilers word the same error differently.",
        ),
        "outcome": attr.string(
            doc = "\"compiles\" or \"fails\".",
            mandatory = True,
            values = ["compiles", "fails"],
        ),
        "src": attr.label(
            doc = "The source.",
            allow_single_file = [".cc", ".cpp", ".cxx"],
            mandatory = True,
        ),
    },
    fragments = ["cpp"],
    test = True,
    toolchains = use_cc_toolchain(),
)
