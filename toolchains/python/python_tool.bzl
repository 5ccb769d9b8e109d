"""Python programs that actions run."""

_PYTHON = "@rules_python//python:toolchain_type"

PythonToolInfo = provider(
    doc = "A Python program: run `interpreter` with `source` as the first argument.",
    fields = {
        "files": "depset of the files that it needs.",
        "interpreter": "File, or a path on the machine.",
        "source": "File.",
    },
)

def _python_tool_impl(ctx):
    runtime = ctx.toolchains[_PYTHON].py3_runtime
    return [
        DefaultInfo(files = depset([ctx.file.src])),
        PythonToolInfo(
            files = depset([ctx.file.src], transitive = [runtime.files] if runtime.files else []),
            interpreter = runtime.interpreter or runtime.interpreter_path,
            source = ctx.file.src,
        ),
    ]

python_tool = rule(
    doc = """\
A Python program of one file that needs nothing but the standard library, for actions.

Depend on it with `cfg = "exec"`: it runs on the Python of the toolchain for the machine
that builds. A py_binary does the same, but brings what Bazel makes its launcher and its
archive with.
""",
    implementation = _python_tool_impl,
    attrs = {
        "src": attr.label(
            doc = "The program.",
            allow_single_file = [".py"],
            mandatory = True,
        ),
    },
    provides = [PythonToolInfo],
    toolchains = [_PYTHON],
)

def run_python_tool(ctx, tool, arguments, inputs, **kwargs):
    """Declares an action that runs a python_tool.

    Args:
      ctx: of the calling rule.
      tool: the target, a dependency with `cfg = "exec"`.
      arguments: an Args object.
      inputs: files, a list.
      **kwargs: what else ctx.actions.run takes: outputs, mnemonic, progress_message,
        toolchain.
    """
    info = tool[PythonToolInfo]
    program = ctx.actions.args()

    # Nothing of the user's Python, and no files beside the source.
    program.add_all(["-I", "-B", info.source])
    ctx.actions.run(
        arguments = [program, arguments],
        executable = info.interpreter,
        inputs = depset(inputs, transitive = [info.files]),
        # Some toolchains' interpreter is a script that looks for python3 on the PATH.
        use_default_shell_env = True,
        **kwargs
    )
