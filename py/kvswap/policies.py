"""Policies: the rules by which the engine "auto" chooses.

docs/engines.md tells what a rule means, and how to measure one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from kvswap import _core


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PolicyRule:
    """One rule of a policy: what submits copies of a kind.

    A rule is for the copies that match all of its conditions: `direction` to
    `min_count`. What it says is checked when it becomes part of a `Policy`.

    Attributes:
        direction: "host_to_device", "device_to_host", "device_to_device" or
            "host_to_host"; None is any. Managed memory counts as the device's.
        priority: that of the call, "throughput" or "compute"; None is any.
        copy_engine: the engine by which the GPU's copy engines would be used:
            "batch"; "bridge" on the legacy stream; "loop" where neither can run, as
            under capture. None is any.
        max_size: bytes of a copy at most; None is any.
        min_count: copies of the direction in the call at least; None is any.
        engine: "kernel"; "loop"; or "batch", which stands for whichever of "batch",
            "bridge" and "loop" the stream and the driver allow.
        kernel: of the engine "kernel": "plain", or "bulk", which the plain one replaces
            where the GPU has none. None for other engines, as all that follows.
        ctas: cooperative thread arrays ("thread blocks") at most.
        threads: of each, a multiple of 32; of the bulk kernel 32.
        stages: of the bulk kernel's ring in shared memory, 2 to 32.
        stage_bytes: of each stage, a multiple of 128.
    """

    direction: str | None = None
    priority: str | None = None
    copy_engine: str | None = None
    max_size: int | None = None
    min_count: int | None = None
    engine: str
    kernel: str | None = None
    ctas: int | None = None
    threads: int | None = None
    stages: int | None = None
    stage_bytes: int | None = None

    def __repr__(self) -> str:
        given = [
            f"{name}={value!r}"
            for name, value in zip(_FIELDS, _values(self), strict=True)
            if value is not None
        ]
        return f"PolicyRule({', '.join(given)})"


_FIELDS = tuple(field.name for field in fields(PolicyRule))
_CONDITIONS = _FIELDS[: _FIELDS.index("engine")]


def _values(rule: PolicyRule) -> list[str | int | None]:
    return [getattr(rule, name) for name in _FIELDS]


class Policy(tuple[PolicyRule, ...]):
    """A policy of the engine "auto": the first rule that is for a copy decides.

    An immutable tuple of rules. A copy that no rule is for goes as under a rule for
    "batch". ``str(policy)`` is a table. To put a rule in front of others::

        kvswap.set_policy(kvswap.Policy([rule, *kvswap.get_policy()]))
    """

    _native: _core._PolicyRules

    def __new__(cls, rules: Iterable[PolicyRule] = ()) -> Policy:
        """Checks the rules and converts them, once for all calls.

        Args:
            rules: `PolicyRule` objects, the first to be looked at first.

        Raises:
            TypeError: an element is no rule, or a field of the wrong type.
            ValueError: a field has a wrong value, or fields do not fit together; the
                message tells the rule by its index.
        """
        policy = super().__new__(cls, rules)
        object.__setattr__(policy, "_native", _core._PolicyRules(tuple(policy)))
        return policy

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Policy is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Policy is immutable: {name} cannot be deleted")

    def __reduce__(self) -> tuple[type[Policy], tuple[tuple[PolicyRule, ...]]]:
        return type(self), (tuple(self),)

    def __repr__(self) -> str:
        if not self:
            return "Policy([])"
        return "\n".join(["Policy([", *(f"    {rule!r}," for rule in self), "])"])

    def __str__(self) -> str:
        """A table, a line for each rule: its index, conditions, what it says."""
        rows = [["rule", *_FIELDS]]
        for index, rule in enumerate(self):
            cells = [
                ("any" if name in _CONDITIONS else "-") if value is None else str(value)
                for name, value in zip(_FIELDS, _values(rule), strict=True)
            ]
            rows.append([str(index), *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
            for row in rows
        )


def set_policy(policy: Policy | None) -> None:
    """Sets the policy of this process, for all GPUs.

    Calls that run meanwhile use the one or the other. A call's own ``policy=`` comes
    before it.

    Args:
        policy: the policy; None for each GPU family's own again.

    Raises:
        TypeError: `policy` is something else.
    """
    _core._set_policy(policy)


def get_policy(compute_capability: int | tuple[int, int] | None = None) -> Policy:
    """The policy in force: that of `set_policy`, else the GPU family's own.

    Args:
        compute_capability: of the GPU, as 90 or (9, 0), what
            ``torch.cuda.get_device_capability()`` returns. None stands for a GPU whose
            family has no measured policy of its own.

    Raises:
        TypeError: `compute_capability` is something else.
    """
    return Policy(
        PolicyRule(**rule)
        for rule in _core._policy_in_force(_capability(compute_capability))
    )


def _capability(given: object) -> int:
    match given:
        case None:
            return 0
        case bool():
            pass
        case int() if 0 <= given < 2**31:
            return given
        case (int(major), int(minor)) if 0 <= major < 2**20 and 0 <= minor < 10:
            return 10 * major + minor
    raise TypeError(
        "compute_capability must be an int, as 90, a pair, as (9, 0), or None, not "
        f"{given!r}"
    )
