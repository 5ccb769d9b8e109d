"""Writes a report for people."""

from __future__ import annotations

from kvswap.doctor.schema import Choice, Gpu, Link, Report
from kvswap.doctor.versions import EXTRAS, version_text
from kvswap.terminal import Status, Terminal

_GIB = 1 << 30

_STREAMS = {
    "legacy": "legacy (torch's default)",
    "per_thread": "per-thread",
    "blocking": "created, blocking",
    "non_blocking": "created, non-blocking",
    "capturing": "capturing a graph",
}

_DIRECTIONS = {"device_to_host": "out", "host_to_device": "in"}

_VERDICTS = {
    Status.OK: "All well: swaps work here, at the speed that the machine has.",
    Status.WARNING: "Swaps work here; see the warnings.",
    Status.PROBLEM: "Swaps cannot work here; see the problems.",
}


def show(report: Report, terminal: Terminal, verbose: bool) -> None:
    """Writes all sections; the advice comes last, where it is seen."""
    terminal.title(f"kvswap {report['kvswap']} doctor")
    for section in (_driver, _entries, _gpus, _engines):
        section(report, terminal, verbose)
    for section in (_environment, _torch, _machine, _versions, _findings):
        section(report, terminal, verbose)


def _driver(report: Report, terminal: Terminal, verbose: bool) -> None:
    driver = report["driver"]
    terminal.heading("Driver")
    if driver["usable"]:
        kind = "SIMULATED driver" if driver["simulated"] else "driver"
        status = Status.PROBLEM if driver["init_error"] else Status.OK
        terminal.status(status, f"{kind} for CUDA {driver['version']}")
    else:
        terminal.status(Status.PROBLEM, driver["message"])
    error = driver["init_error"]
    terminal.key_values(
        {
            "path": driver["path"] or "none",
            "tried": "; ".join(map(_tried_text, driver["tried"])) or None,
            "cuInit": f"error {error} ({driver['init_error_name']})" if error else None,
            "kernel module": driver["kernel_module"],
            "batch call": ("yes" if driver["batch_available"] else "no")
            if driver["path"]
            else None,
            "devices": ", ".join(
                f"{file['path']}: {file['problem'] or 'may be opened'}"
                for file in driver["device_files"]
                if verbose or file["problem"]
            )
            or None,
            "libraries": ", ".join(
                f"{library['path']} ({library['kind']})"
                for library in driver["libraries"]
            )
            or None,
        }
    )


def _tried_text(line: str) -> str:
    """A line of ``tried``; the loader's words often begin with the name once more."""
    name, _, words = line.partition(": ")
    return f"{name}: {words.removeprefix(f'{name}: ')}"


def _entries(report: Report, terminal: Terminal, verbose: bool) -> None:
    entries = report["entries"]
    if not entries:
        return
    terminal.heading("Functions of the driver")
    missing = [entry for entry in entries if not entry["present"]]
    required = any(entry["required"] for entry in missing)
    status = Status.PROBLEM if required else Status.WARNING
    terminal.status(
        status if missing else Status.OK,
        f"{len(entries) - len(missing)} of {len(entries)} found"
        + ("" if verbose or missing else " (--verbose lists them)"),
    )
    for entry in missing:
        terminal.text(
            f"{entry['name']} ({version_text(entry['version'])}, "
            f"{'required' if entry['required'] else 'optional'}): {entry['message']}. "
            f"Without it: {entry['cost']}.",
            indent=2,
        )
    if verbose:
        terminal.table(
            ["function", "asked for", "need", "found", "without it"],
            [
                [
                    entry["name"],
                    version_text(entry["version"]),
                    "required" if entry["required"] else "optional",
                    Status.OK if entry["present"] else status,
                    entry["cost"],
                ]
                for entry in entries
            ],
        )


def _gpus(report: Report, terminal: Terminal, verbose: bool) -> None:
    terminal.heading("GPUs")
    if not report["gpus"]:
        terminal.text("none is seen")
        return
    for gpu in report["gpus"]:
        kernel = gpu["kernel"]
        fine = kernel is not None and kernel["available"]
        terminal.status(
            Status.OK if fine else Status.WARNING,
            f"GPU {gpu['ordinal']}: {gpu['name']}",
        )
        terminal.key_values(_gpu_values(gpu, verbose))


def _gpu_values(gpu: Gpu, verbose: bool) -> dict[str, object]:
    memory, kernel = gpu["memory_bytes"], gpu["kernel"]
    if kernel is None:
        image = "not told"
    elif kernel["available"]:
        image = kernel["image"] + (", bulk kernel too" if kernel["bulk"] else "")
    else:
        image = f"none ({kernel['reason'] or 'not known'}): {kernel['message']}"
    node = gpu["numa_node"]
    return {
        "compute capability": gpu["compute_capability"],
        "memory": f"{memory / _GIB:.0f} GiB" if memory else None,
        "PCIe link": _link_text(gpu["link"]),
        "PCI address": gpu["pci_address"] if verbose else None,
        "NUMA node": "not told" if node is None else node,
        "copy kernels": image,
    }


def _link_text(link: Link | None) -> str:
    if link is None:
        return "not told"
    now = f"generation {link['generation'] or '?'} x{link['width'] or '?'}"
    best = f"generation {link['max_generation'] or '?'} x{link['max_width'] or '?'}"
    return f"{now}; at best {best} ({link['source']}; an idle GPU lowers it)"


def _engines(report: Report, terminal: Terminal, verbose: bool) -> None:
    engines = report["engines"]
    if engines is None:
        return
    choices = engines["choices"]
    terminal.heading(f"Engine that each kind of stream takes, on GPU {engines['gpu']}")
    columns = list(
        dict.fromkeys((each["direction"], each["block_bytes"]) for each in choices)
    )
    rows: dict[str, list[object]] = {}
    for choice in choices:
        row = rows.setdefault(choice["stream"], [_STREAMS[choice["stream"]]])
        row.append(_choice_text(choice))
    terminal.table(
        ["stream"]
        + [f"{_DIRECTIONS[way]}, {_block_text(size)}" for way, size in columns],
        list(rows.values()),
    )
    terminal.text(
        "out: GPU to host; in: host to GPU; of blocks of that size. Where no reason is "
        "below, the policy prefers that engine (kvswap.get_policy)."
    )
    for text in _reasons(choices):
        terminal.text(f"- {text}")


def _block_text(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def _choice_text(choice: Choice) -> str:
    # Of several engines, the one with most copies first.
    copies = sorted(choice["engine_copies"].items(), key=lambda pair: -pair[1])
    return " + ".join(name for name, _ in copies) or choice["engine"]


def _reasons(choices: list[Choice]) -> list[str]:
    """Why an engine does not run, each reason once, with the streams it holds for."""
    streams: dict[tuple[str, str], dict[str, None]] = {}
    for choice in choices:
        for engine, text in choice["explanations"].items():
            streams.setdefault((engine, text), {})[_STREAMS[choice["stream"]]] = None
    everywhere = len({choice["stream"] for choice in choices})
    return [
        f"{'all streams' if len(names) == everywhere else ', '.join(names)}: not "
        f"{engine}, because {text}"
        for (engine, text), names in streams.items()
    ]


def _environment(report: Report, terminal: Terminal, verbose: bool) -> None:
    terminal.heading("Environment variables")
    if not report["environment"]:
        terminal.text("none that bears on swaps is set")
        return
    for variable in report["environment"]:
        value = "" if variable["value"] is None else f"={variable['value']}"
        near = variable["suggestion"]
        text = f"{variable['name']}{value}  ({variable['effect']}"
        text += f"; did you mean {near}?)" if near else ")"
        if variable["known"]:
            terminal.text(text)
        else:
            terminal.status(Status.WARNING, text)


def _torch(report: Report, terminal: Terminal, verbose: bool) -> None:
    torch = report["torch"]
    terminal.heading("torch")
    if not torch["installed"]:
        terminal.text("not installed; kvswap needs none")
        return
    if torch["version"] is None:
        terminal.text("installed; not looked at")
        return
    available = torch["cuda_available"]
    terminal.key_values(
        {
            "version": torch["version"],
            "built for": f"CUDA {torch['cuda']}" if torch["cuda"] else "no CUDA",
            "GPUs it sees": torch["gpu_count"] if available else "none",
            "operators": "torch.ops.kvswap loads"
            if torch["operators"]
            else f"do not load: {torch['operators_message']}",
        }
    )


def _bytes_text(number: int | None, none: str) -> str:
    if number is None:
        return none
    return f"{number / _GIB:.1f} GiB" if number >= _GIB else f"{number // 1024:,} KiB"


def _machine(report: Report, terminal: Terminal, verbose: bool) -> None:
    machine = report["machine"]
    terminal.heading("Machine and limits")
    kinds = [name for name in ("wsl", "container") if machine[name]]
    nodes = machine["numa_nodes"]
    terminal.key_values(
        {
            "kind": ", ".join(kinds) or None,
            "memory": _bytes_text(machine["memory_bytes"], "not told"),
            "control group": _bytes_text(machine["cgroup_limit"], "no limit"),
            "ulimit -l": _bytes_text(machine["locked_memory_limit"], "unlimited"),
            "NUMA nodes": f"{', '.join(map(str, nodes))}; this process runs on "
            f"{', '.join(map(str, machine['cpu_nodes'])) or '?'}, takes memory of "
            f"{', '.join(map(str, machine['memory_nodes'])) or '?'}"
            if len(nodes) > 1
            else None,
        }
    )


def _versions(report: Report, terminal: Terminal, verbose: bool) -> None:
    versions = report["versions"]
    terminal.heading("Versions")
    extras = [
        f"{extra} ({package} {version})" if version else f"{extra} (not installed)"
        for package, extra in EXTRAS.items()
        for version in [versions["extras"].get(package)]
    ]
    terminal.key_values(
        {
            "kvswap": versions["kvswap"],
            "toolkit": f"built against headers of CUDA {versions['toolkit']}"
            if versions["toolkit"]
            else "built without one; binaries do not differ in it",
            "Python": versions["python"],
            "executable": versions["executable"] if verbose else None,
            "system": f"{versions['system']}, {versions['kernel']}, "
            f"{versions['machine']}, {versions['libc']}",
            "extras": ", ".join(extras),
        }
    )


def _findings(report: Report, terminal: Terminal, verbose: bool) -> None:
    terminal.heading("What to do")
    for finding in report["findings"]:
        terminal.status(Status(finding["severity"]), finding["symptom"])
        terminal.text(f"{finding['found']}.".replace("..", "."), indent=4)
        terminal.text(f"-> {finding['advice']}", indent=4)
    if report["findings"]:
        terminal.blank()
    verdict = Status(report["verdict"])
    terminal.status(verdict, _VERDICTS[verdict])
