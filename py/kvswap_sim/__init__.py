"""The simulated CUDA driver: a test double for programs that load libcuda.

For a child process::

    environment = kvswap_sim.environment("12.4", devices=2, seed=7)
    subprocess.run([...], env={**os.environ, **environment}, check=True)

In this process, beside the program under test::

    os.environ["KVSWAP_LIBCUDA"] = kvswap_sim.library_path("13.0")
    simulator = kvswap_sim.Simulator("13.0")
    simulator.fail("cuMemcpyAsync", 700, call=3)
    ...
    for call in simulator.trace():
        print(call.name, call.arguments, call.result)

Nothing here needs a GPU, a toolkit, or any package beyond the standard library.
"""

from kvswap_sim._environment import Fault, environment
from kvswap_sim._library import (
    DRIVER_VERSIONS,
    LIBRARY_DIRECTORY_VARIABLE,
    library_path,
)
from kvswap_sim._simulator import Simulator
from kvswap_sim._trace import Call, parse_trace, read_trace

__all__ = [
    "DRIVER_VERSIONS",
    "LIBRARY_DIRECTORY_VARIABLE",
    "Call",
    "Fault",
    "Simulator",
    "environment",
    "library_path",
    "parse_trace",
    "read_trace",
]
