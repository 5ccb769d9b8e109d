"""The shared libraries of a compiler's sanitizer."""

load("@rules_cc//cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:find_cc_toolchain.bzl", "CC_TOOLCHAIN_TYPE", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")

# $1: compiler; $2: name of the library; $3: where its copy goes. The compiler answers
# with the bare name where it has none.
_COPY = """\
set -eu
file=$("$1" -print-file-name="$2")
if [ "$file" = "$2" ]; then
  echo "sanitizer_runtime: $1 has no $2: install the compiler's sanitizers" \\
      "(Debian: they come with libgcc-N-dev), or leave out --config=asan and --config=tsan" >&2
  exit 1
fi
cp -L "$file" "$3"
"""

def _sanitizer_runtime_impl(ctx):
    cc_toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        cc_toolchain = cc_toolchain,
        ctx = ctx,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compiler = cc_common.get_tool_for_action(
        action_name = CPP_COMPILE_ACTION_NAME,
        feature_configuration = features,
    )
    copies = []
    for library in ctx.attr.libraries:
        copy = ctx.actions.declare_file("{}/{}".format(ctx.label.name, library))
        ctx.actions.run_shell(
            arguments = [compiler, library, copy.path],
            command = _COPY,
            inputs = cc_toolchain.all_files,
            mnemonic = "SanitizerRuntime",
            outputs = [copy],
            progress_message = "Copying the compiler's " + library,
            toolchain = CC_TOOLCHAIN_TYPE,
            use_default_shell_env = True,
        )
        copies.append(copy)
    return [DefaultInfo(
        files = depset(copies),
        runfiles = ctx.runfiles(files = copies),
    )]

sanitizer_runtime = rule(
    doc = """\
Copies of shared libraries of the C++ toolchain's compiler, which is asked where they are.

To be loaded before all others (LD_PRELOAD) by a program that was not compiled with the
sanitizer and loads libraries that were.
""",
    implementation = _sanitizer_runtime_impl,
    attrs = {
        "libraries": attr.string_list(
            doc = "Their file names, in the order in which they are loaded.",
            mandatory = True,
        ),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)
