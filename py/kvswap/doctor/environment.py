"""The environment variables that bear on swaps, as far as they are set."""

from __future__ import annotations

from kvswap.close_names import closest
from kvswap.doctor.schema import Variable
from kvswap.doctor.system import System

OWN = {
    "KVSWAP_LIBCUDA": "the driver's library; nothing else is tried",
    "KVSWAP_ENGINE": "the engine where a call asks for none",
    "KVSWAP_MAX_BATCH": "most copies in one batch call where a call asks for none",
    "KVSWAP_LOG": "what kvswap logs, and that it goes to stderr",
    "KVSWAP_NVTX": "ranges for tracing tools",
    "KVSWAP_SIM_DRIVER_VERSION": "simulated driver: the version it passes for",
    "KVSWAP_SIM_DEVICES": "simulated driver: its number of GPUs",
    "KVSWAP_SIM_COMPUTE_CAPABILITY": "simulated driver: of its GPUs",
    "KVSWAP_SIM_DEVICE_ATTRIBUTES": "simulated driver: answers on its GPUs",
    "KVSWAP_SIM_KERNELS": "simulated driver: files of kernel plug-ins",
    "KVSWAP_SIM_SEED": "simulated driver: of the order in which work runs",
    "KVSWAP_SIM_WITHOUT": "simulated driver: functions that it lacks",
    "KVSWAP_SIM_LOOKUP": "simulated driver: wrong answers of its lookup",
    "KVSWAP_SIM_FAULTS": "simulated driver: failures on demand",
    "KVSWAP_SIM_TRACE": "simulated driver: a file with its calls",
    "KVSWAP_SIM_LIBRARY_DIR": "where kvswap_sim looks for its libraries",
}
"""From each variable that kvswap reads when it runs to what it does."""

# Read by builds and tests; harmless here, and no misspelling.
_OF_BUILDS = (
    "KVSWAP_BAZEL_CACHE",
    "KVSWAP_MATRIX_TOOLKIT",
    "KVSWAP_PACKAGE_DIR",
    "KVSWAP_PROPERTY_FACTOR",
    "KVSWAP_PYTHON",
    "KVSWAP_PYTHONS",
    "KVSWAP_RELIABILITY_FILE",
    "KVSWAP_SMALL_GPU_TESTS",
    "KVSWAP_TORCH",
)

OTHERS = {
    "CUDA_VISIBLE_DEVICES": "the GPUs that the driver shows, and their order",
    "CUDA_DEVICE_ORDER": "the order of the GPUs' numbers",
    "CUDA_LAUNCH_BLOCKING": "1: launches wait until they are done, which costs speed",
    "CUDA_MODULE_LOADING": "when kernels are loaded",
    "CUDA_DISABLE_PTX_JIT": "1: PTX is not compiled, so that only cubins run",
    "CUDA_FORCE_PTX_JIT": "1: cubins are not used",
    "CUDA_MPS_PIPE_DIRECTORY": "the multi-process service that is asked",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "the share of the GPU for this process",
    "NVIDIA_VISIBLE_DEVICES": "the GPUs that the container was given",
    "NVIDIA_DRIVER_CAPABILITIES": "the parts of the driver that the container was given",
    "LD_LIBRARY_PATH": "where the loader looks for libraries first",
    "LD_PRELOAD": "libraries that are loaded before all others",
    "PYTORCH_CUDA_ALLOC_CONF": "how torch allocates GPU memory",
    "PYTORCH_ALLOC_CONF": "how torch allocates GPU memory",
}
"""Variables of others. Of no further ones is anything told: they may hold secrets."""


def variables(system: System) -> list[Variable]:
    """Those that are set, kvswap's first; ones of kvswap's that it knows not, too."""
    own = [
        _own(name, value)
        for name, value in sorted(system.environment.items())
        if name.startswith("KVSWAP_") and value and name not in _OF_BUILDS
    ]
    others = [
        Variable(
            name=name,
            value=system.environment[name],
            known=True,
            effect=effect,
            suggestion=None,
        )
        for name, effect in OTHERS.items()
        # Of these, set to nothing means something.
        if name in system.environment
    ]
    return own + others


def _own(name: str, value: str) -> Variable:
    if name in OWN:
        return Variable(
            name=name, value=value, known=True, effect=OWN[name], suggestion=None
        )
    return Variable(
        name=name,
        value=None,
        known=False,
        effect="none: kvswap reads no such variable",
        suggestion=closest(name, OWN, cutoff=0.75) or None,
    )
