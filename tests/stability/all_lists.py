"""The committed lists."""

from __future__ import annotations

from tests.stability import (
    c_interface,
    environment_variables,
    exported_symbols,
    operator_schemas,
    python_interface,
)
from tests.stability.committed_list import CommittedList

LISTS = (
    CommittedList(
        "c_interface",
        "The C ABI (csrc/kvswap.h) on 64-bit Linux",
        c_interface.collect,
        c_interface.rule,
    ),
    CommittedList(
        "exported_symbols",
        "What libkvswap.so exports, with symbol versions",
        exported_symbols.collect_library,
        exported_symbols.rule,
    ),
    CommittedList(
        "simulated_driver_control",
        "Control of the simulated driver (csrc/sim/cuda_sim.h)",
        exported_symbols.collect_simulated_driver,
    ),
    CommittedList(
        "python_interface",
        "The public Python API",
        python_interface.collect,
        python_interface.rule,
    ),
    CommittedList(
        "op_schemas",
        "Operators for torch",
        operator_schemas.collect,
        operator_schemas.rule,
    ),
    CommittedList(
        "environment_variables",
        "Environment variables that kvswap reads",
        environment_variables.collect,
    ),
)
