"""Build settings of //toolchains/cc."""

def _bool_flag_impl(_ctx):
    return []

bool_flag = rule(
    doc = "A flag that is on or off.",
    implementation = _bool_flag_impl,
    build_setting = config.bool(flag = True),
)

def _choice_flag_impl(ctx):
    if ctx.build_setting_value not in ctx.attr.values:
        fail("{} is {}: set it to one of {}".format(
            ctx.label,
            repr(ctx.build_setting_value),
            ", ".join(ctx.attr.values),
        ))
    return []

choice_flag = rule(
    doc = "A flag that is one of a few words.",
    implementation = _choice_flag_impl,
    attrs = {
        "values": attr.string_list(
            doc = "The words.",
            mandatory = True,
        ),
    },
    build_setting = config.string(flag = True),
)
