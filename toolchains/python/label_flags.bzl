"""Label flags of //toolchains/python, and a check of what they point to."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//toolchains/cc:header_check.bzl", "label_text", "missing_header")

def _library_of_label_flag_impl(ctx):
    library = ctx.attr.flag
    problem = missing_header(library, ctx.attr.header)
    if problem:
        fail(("kvswap: --@kvswap//toolchains/python:{} points to {}, which {}. " +
              "It needs a cc_library with <{}> on its include path").format(
            ctx.attr.flag_name,
            label_text(library.label),
            problem,
            ctx.attr.header,
        ))
    return [library[DefaultInfo], library[CcInfo]]

library_of_label_flag = rule(
    doc = """\
The library that a label flag points to.

If it lacks the header that the flag is there for, analysis fails with a message that
names the flag, not a compiler somewhere below.
""",
    implementation = _library_of_label_flag_impl,
    attrs = {
        "flag": attr.label(
            doc = "The label_flag.",
            mandatory = True,
        ),
        "flag_name": attr.string(
            doc = "Its name, for the message: a label_flag itself looks like what it points to.",
            mandatory = True,
        ),
        "header": attr.string(
            doc = "The header, as it is included.",
            mandatory = True,
        ),
    },
    provides = [CcInfo],
)
