"""Headers with a mistake put in, for tests that have to notice it."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# $1: header, $2: result, $3: text, $4: its replacement. In bash itself: the build
# needs no other program for it.
_MUTATE = """\
set -eu
header=$(cat "$1"; echo .)
header=${header%.}
if [ -n "$3" ]; then
  rest=${header#*"$3"}
  if [ "$rest" = "$header" ]; then
    echo "mutated_header: $1 does not hold: $3" >&2
    exit 1
  fi
  if [ "${rest#*"$3"}" != "$rest" ]; then
    echo "mutated_header: $1 holds more than once: $3" >&2
    exit 1
  fi
  header=${header%%"$3"*}$4$rest
fi
printf %s "$header" >"$2"
"""

def _mutated_header_impl(ctx):
    if bool(ctx.attr.before) != bool(ctx.attr.after) or (ctx.attr.before and ctx.attr.before == ctx.attr.after):
        fail("a mutation has two different texts, `before` and `after`; a control has neither")

    # The copy is included by the original's path, from a folder that comes first.
    folder = ctx.label.name + ".include"
    header = ctx.actions.declare_file("{}/{}".format(folder, ctx.attr.include_path))
    ctx.actions.run_shell(
        arguments = [ctx.file.src.path, header.path, ctx.attr.before, ctx.attr.after],
        command = _MUTATE,
        inputs = [ctx.file.src],
        mnemonic = "MutateHeader",
        outputs = [header],
        progress_message = "Mutating %{input}",
    )
    quote_include = header.path.removesuffix("/" + ctx.attr.include_path)
    return [
        DefaultInfo(files = depset([header])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([header]),
            quote_includes = depset([quote_include]),
        )),
    ]

mutated_header = rule(
    doc = """\
A copy of a header in which one text is replaced by another.

Put it first in `deps` of a compile_outcome_test. Building it fails unless `before` stands
in the header exactly once, so a mutation cannot silently turn into a control.
""",
    implementation = _mutated_header_impl,
    attrs = {
        "after": attr.string(
            doc = "What replaces it. Empty for a control.",
        ),
        "before": attr.string(
            doc = "The text to replace. Empty for a control: the copy equals the original.",
        ),
        "include_path": attr.string(
            doc = "As sources include the header: `#include \"<include_path>\"`.",
            mandatory = True,
        ),
        "src": attr.label(
            doc = "The header.",
            allow_single_file = [".h", ".hpp"],
            mandatory = True,
        ),
    },
)
