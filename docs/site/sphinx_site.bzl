"""The documentation's site."""

load("//toolchains/python:python_tool.bzl", "PythonToolInfo", "run_python_tool")

def _sphinx_site_impl(ctx):
    # By path in the repository: some files are named by several attributes.
    files = {}
    for target in ctx.attr.srcs + ctx.attr.deps:
        for depset_of_files in [target[DefaultInfo].files, target[DefaultInfo].default_runfiles.files]:
            for file in depset_of_files.to_list():
                if file.owner.workspace_name == ctx.label.workspace_name:
                    files[file.short_path] = file

    site = ctx.actions.declare_directory(ctx.label.name)
    listed = ctx.actions.declare_file(ctx.label.name + ".files.txt")
    ctx.actions.write(listed, "".join([
        "{}\t{}\n".format(path, file.path)
        for path, file in files.items()
    ]))
    arguments = ctx.actions.args()
    arguments.add(site.path)
    arguments.add(listed)
    run_python_tool(
        ctx,
        ctx.attr._builder,
        arguments,
        files.values() + [listed],
        mnemonic = "SphinxSite",
        outputs = [site],
        progress_message = "Building the documentation's site",
        toolchain = None,
    )
    return [DefaultInfo(
        files = depset([site]),
        runfiles = ctx.runfiles(files = [site]),
    )]

sphinx_site = rule(
    doc = """\
The pages as a folder of HTML, with the references of Python and C.

A warning of Sphinx fails the build.
""",
    implementation = _sphinx_site_impl,
    attrs = {
        "deps": attr.label_list(
            doc = "Python packages that the reference imports.",
        ),
        "srcs": attr.label_list(
            doc = "Pages, pictures, and files that pages link to; Sphinx's configuration.",
            allow_files = True,
        ),
        "_builder": attr.label(
            cfg = "exec",
            default = Label("//docs/site:build_site"),
            providers = [PythonToolInfo],
        ),
    },
)
