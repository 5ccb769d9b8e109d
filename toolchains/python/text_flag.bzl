"""A build setting that holds text."""

TextFlagInfo = provider(
    doc = "The value of a text_flag.",
    fields = {"value": "The text."},
)

def _text_flag_impl(ctx):
    return [TextFlagInfo(value = ctx.build_setting_value)]

text_flag = rule(
    doc = "A flag that holds text.",
    implementation = _text_flag_impl,
    build_setting = config.string(flag = True),
)
