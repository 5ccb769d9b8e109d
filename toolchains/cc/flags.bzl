"""Build settings of //toolchains/cc."""

def _bool_flag_impl(_ctx):
    return []

bool_flag = rule(
    doc = "A flag that is on or off.",
    implementation = _bool_flag_impl,
    build_setting = config.bool(flag = True),
)
