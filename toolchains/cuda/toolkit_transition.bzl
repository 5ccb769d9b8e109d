"""Selects a toolkit for what a target depends on."""

_TOOLKIT_FLAG = str(Label("//toolchains/cuda:toolkit"))

def _toolkit_transition_impl(_settings, attr):
    return {_TOOLKIT_FLAG: attr.toolkit}

toolkit_transition = transition(
    implementation = _toolkit_transition_impl,
    inputs = [],
    outputs = [_TOOLKIT_FLAG],
)
