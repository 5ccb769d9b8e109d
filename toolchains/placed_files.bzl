"""Files of other packages, made to appear in this one."""

def _placed_files_impl(ctx):
    placed = []
    for source in ctx.files.srcs:
        file = ctx.actions.declare_file((ctx.attr.folder + "/" if ctx.attr.folder else "") + source.basename)
        ctx.actions.symlink(output = file, target_file = source)
        placed.append(file)
    return [DefaultInfo(
        files = depset(placed),
        runfiles = ctx.runfiles(files = placed),
    )]

placed_files = rule(
    doc = """\
The files of `srcs`, side by side in this package's folder.

Only the files: what else their targets would bring along at run time stays away, so that
libraries find one another here, as they do in a wheel.
""",
    implementation = _placed_files_impl,
    attrs = {
        "folder": attr.string(
            doc = "Where they are placed below this package's folder. Empty: in it.",
        ),
        "srcs": attr.label_list(
            doc = "Targets whose files are placed, by their base names.",
            allow_files = True,
            mandatory = True,
        ),
    },
)
