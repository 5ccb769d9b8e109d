"""What a report holds: the schema of ``kvswap doctor --json``.

``SCHEMA`` counts incompatible changes. Keys may be added without raising it; a key that
is here keeps its name, its type and its meaning.
"""

from __future__ import annotations

from typing import TypedDict

SCHEMA = 1


class Versions(TypedDict):
    """What runs here. ``extras``: from each extra's package to its version, or null."""

    kvswap: str
    toolkit: str | None
    python: str
    executable: str
    libc: str
    kernel: str
    machine: str
    system: str
    extras: dict[str, str | None]


class Machine(TypedDict):
    """Limits and kinds of the machine. Null: not told, or no limit.

    ``cpu_nodes`` and ``memory_nodes`` are the NUMA nodes that this process may run on
    and take memory from.
    """

    wsl: bool
    container: bool
    nvidia_pci_devices: int
    locked_memory_limit: int | None
    memory_bytes: int | None
    cgroup_limit: int | None
    cgroup_used: int | None
    numa_nodes: list[int]
    cpu_nodes: list[int]
    memory_nodes: list[int]


class Library(TypedDict):
    """A driver library on this machine; ``kind``: driver, wsl, compat or stub."""

    path: str
    kind: str


class DeviceFile(TypedDict):
    """A file that the driver opens; ``problem``: why it cannot be, or null."""

    path: str
    problem: str | None


class Driver(TypedDict):
    """The CUDA driver. Null: not told.

    ``version``: as "12.8"; ``init_error``: what cuInit returned; ``mig_gpus``: how many
    GPUs have MIG enabled.
    """

    usable: bool
    path: str
    version: str | None
    version_number: int
    batch_available: bool
    simulated: bool
    message: str
    tried: list[str]
    init_error: int | None
    init_error_name: str | None
    gpu_count: int | None
    mig_gpus: int | None
    kernel_module: str | None
    libraries: list[Library]
    device_files: list[DeviceFile]


class Entry(TypedDict):
    """A function of the driver; ``cost``: what it costs to lack it."""

    name: str
    version: int
    required: bool
    present: bool
    cuda_error: int
    query_status: int | None
    message: str
    cost: str


class Link(TypedDict):
    """A GPU's PCIe link, now and at best; ``source``: sysfs or nvml, which told it."""

    generation: int | None
    width: int | None
    max_generation: int | None
    max_width: int | None
    source: str


class Kernel(TypedDict):
    """The copy kernels on a GPU, as ``kvswap.kernel_info()`` has it."""

    available: bool
    reason: str | None
    image: str
    bulk: bool
    parameter_bytes: int
    message: str


class Gpu(TypedDict):
    """A GPU. Null: not told. ``host_pointers``: whether registered memory keeps its address."""

    ordinal: int
    name: str
    compute_capability: str
    memory_bytes: int | None
    pci_address: str | None
    numa_node: int | None
    mig: bool
    host_pointers: bool | None
    link: Link | None
    kernel: Kernel | None


class Choice(TypedDict):
    """What ``kvswap.plan`` says of one kind of call."""

    stream: str
    direction: str
    block_bytes: int
    blocks: int
    engine: str
    engine_copies: dict[str, int]
    unavailable: dict[str, str]
    explanations: dict[str, str]


class Engines(TypedDict):
    """Which engine each kind of stream takes on a GPU."""

    gpu: int
    choices: list[Choice]


class Variable(TypedDict):
    """An environment variable that is set; ``value``: null where kvswap knows it not."""

    name: str
    value: str | None
    known: bool
    effect: str
    suggestion: str | None


class Torch(TypedDict):
    """torch; ``operators``: whether kvswap's library for torch loads, or null."""

    installed: bool
    version: str | None
    cuda: str | None
    cuda_available: bool | None
    gpu_count: int | None
    operators: bool | None
    operators_message: str


class Finding(TypedDict):
    """A known trouble that was found; ``severity``: note, warning or problem."""

    name: str
    severity: str
    symptom: str
    found: str
    advice: str


class Report(TypedDict):
    """All of it. ``verdict``: ok, warning or problem; ``failures``: by section."""

    schema: int
    kvswap: str
    verdict: str
    exit_status: int
    versions: Versions
    machine: Machine
    driver: Driver
    entries: list[Entry]
    gpu_asked_for: int | None
    gpus: list[Gpu]
    engines: Engines | None
    environment: list[Variable]
    torch: Torch
    findings: list[Finding]
    failures: dict[str, str]
