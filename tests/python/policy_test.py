"""Policies: rules, their checks, text, and the policy of the process."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import kvswap
import kvswap_sim
from kvswap import Policy, PolicyRule
from kvswap.testing.cuda_driver import CudaDriver
from tests.python.descriptors import BLOCK_BYTES, BLOCKS, Blocks

PLAIN = PolicyRule(
    direction="host_to_device",
    priority="throughput",
    copy_engine="loop",
    max_size=49152,
    min_count=4,
    engine="kernel",
    kernel="plain",
    ctas=16,
    threads=1024,
)
BULK = PolicyRule(
    direction="device_to_host",
    priority="compute",
    copy_engine="bridge",
    max_size=2**64 - 1,
    min_count=1,
    engine="kernel",
    kernel="bulk",
    ctas=2,
    threads=32,
    stages=8,
    stage_bytes=8192,
)
LOOP = PolicyRule(engine="loop")
POLICY = Policy([PLAIN, BULK, LOOP])


@pytest.fixture
def restored() -> Iterator[None]:
    """The policy of the process is none after the test."""
    yield
    kvswap.set_policy(None)


@pytest.fixture
def round_trip(restored: None) -> Any:
    """What the library has after a policy was set."""

    def set_and_get(policy: Policy) -> Policy:
        kvswap.set_policy(policy)
        return kvswap.get_policy()

    return set_and_get


def test_every_field_reaches_the_library_and_comes_back(round_trip: Any) -> None:
    assert round_trip(POLICY) == POLICY
    assert round_trip(Policy()) == ()


def test_policy_of_the_process_is_for_every_gpu(restored: None) -> None:
    of_families = {given: kvswap.get_policy(given) for given in (None, 75, 90, (9, 0))}
    assert of_families[90] == of_families[(9, 0)]
    for policy in of_families.values():
        assert policy
        assert policy[-1].engine in ("loop", "batch")
    kvswap.set_policy(POLICY)
    assert all(kvswap.get_policy(given) == POLICY for given in of_families)
    kvswap.set_policy(None)
    assert {given: kvswap.get_policy(given) for given in of_families} == of_families


def test_a_policy_in_force_can_be_set_again(round_trip: Any) -> None:
    extended = Policy([LOOP, *kvswap.get_policy(90)])
    assert round_trip(extended) == extended


WRONG_RULES: dict[str, tuple[PolicyRule, dict[str, Any], type[Exception], str]] = {
    "direction": (
        LOOP,
        {"direction": "up"},
        ValueError,
        "direction must be one of 'host_to_device', 'device_to_host', "
        "'device_to_device', 'host_to_host', not 'up'",
    ),
    "direction misspelt": (
        LOOP,
        {"direction": "host_to_devise"},
        ValueError,
        "not 'host_to_devise'; did you mean host_to_device?",
    ),
    "direction as a number": (LOOP, {"direction": 0}, TypeError, "must be a str"),
    "priority": (LOOP, {"priority": "low"}, ValueError, "'throughput', 'compute'"),
    "copy_engine auto": (
        LOOP,
        {"copy_engine": "auto"},
        ValueError,
        "copy_engine must be one of 'batch', 'loop', 'kernel', 'bridge', not 'auto'",
    ),
    "copy_engine kernel": (LOOP, {"copy_engine": "kernel"}, ValueError, "(kernel)"),
    "max_size zero": (LOOP, {"max_size": 0}, ValueError, "max_size must be from 1"),
    "max_size as a float": (LOOP, {"max_size": 1.5}, TypeError, "not a float"),
    "max_size as a bool": (LOOP, {"max_size": True}, TypeError, "not a bool"),
    "min_count negative": (LOOP, {"min_count": -1}, ValueError, "not -1"),
    "min_count too large": (LOOP, {"min_count": 2**64}, ValueError, str(2**64)),
    "engine auto": (LOOP, {"engine": "auto"}, ValueError, "engine must be one of"),
    "engine bridge": (LOOP, {"engine": "bridge"}, ValueError, "cannot be chosen"),
    "engine None": (LOOP, {"engine": None}, ValueError, "cannot be chosen"),
    "kernel none": (PLAIN, {"kernel": "none"}, ValueError, "'plain', 'bulk'"),
    "no kernel": (PLAIN, {"kernel": None}, ValueError, "kernel 0 (none)"),
    "no ctas": (PLAIN, {"ctas": None}, ValueError, "ctas is 0"),
    "ctas too large": (PLAIN, {"ctas": 2**31}, ValueError, "1 to 2147483647"),
    "threads": (PLAIN, {"threads": 33}, ValueError, "threads is 33"),
    "stages": (BULK, {"stages": 40}, ValueError, "stages is 40"),
    "stage_bytes": (BULK, {"stage_bytes": 100}, ValueError, "stage_bytes is 100"),
    "kernel of the loop": (LOOP, {"ctas": 1}, ValueError, "of rules for the kernel"),
}


@pytest.mark.parametrize("case", WRONG_RULES)
def test_wrong_rule(case: str) -> None:
    rule, changes, error, fragment = WRONG_RULES[case]
    wrong = dataclasses.replace(rule, **changes)
    with pytest.raises(error) as raised:
        Policy([rule, wrong])
    assert raised.type is error
    assert str(raised.value).startswith("rule 1 of the policy: ")
    assert fragment in str(raised.value)
    assert Policy([rule]) == (rule,)


def test_not_a_rule() -> None:
    message = "rule 1 of the policy must be a kvswap.PolicyRule, not a dict"
    with pytest.raises(TypeError, match=message):
        Policy([LOOP, {"engine": "loop"}])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="iterable"):
        Policy(LOOP)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [(), [LOOP], (LOOP,), LOOP, "auto", Policy, 1], ids=repr
)
def test_not_a_policy(blocks: Blocks, value: Any) -> None:
    message = "policy must be a kvswap.Policy or None, not "
    with pytest.raises(TypeError, match=message):
        kvswap.set_policy(value)
    with pytest.raises(TypeError, match=message):
        kvswap.plan(**blocks.swap_in_arguments(), policy=value)


@pytest.mark.parametrize("value", [True, 9.0, "90", (9,), (9, 0, 0), (9, 10), -1])
def test_not_a_compute_capability(value: Any) -> None:
    with pytest.raises(TypeError, match="compute_capability must be an int, as 90"):
        kvswap.get_policy(value)


class TestValues:
    """Policy and PolicyRule are values."""

    def test_immutable(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            PLAIN.ctas = 5  # type: ignore[misc]
        for name in ("_native", "anything"):
            with pytest.raises(AttributeError, match="a Policy is immutable"):
                setattr(POLICY, name, None)
        with pytest.raises(AttributeError, match="a Policy is immutable"):
            del POLICY._native

    def test_equality_and_hash(self) -> None:
        assert Policy([PLAIN, BULK, LOOP]) == POLICY != Policy([BULK, PLAIN, LOOP])
        assert {POLICY: 1}[Policy(POLICY)] == 1

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_copies(self, protocol: int) -> None:
        for copied in (
            pickle.loads(pickle.dumps(POLICY, protocol)),
            copy.copy(POLICY),
            copy.deepcopy(POLICY),
        ):
            assert copied == POLICY
            assert type(copied) is Policy
            kvswap.set_policy(copied)
            kvswap.set_policy(None)

    def test_repr_is_the_expression(self) -> None:
        assert repr(LOOP) == "PolicyRule(engine='loop')"
        names = {"Policy": Policy, "PolicyRule": PolicyRule}
        for policy in (POLICY, Policy()):
            assert eval(repr(policy), names) == policy

    def test_text_is_a_table(self) -> None:
        lines = [line.split() for line in str(POLICY).splitlines()]
        assert lines[0] == [
            "rule",
            *(field.name for field in dataclasses.fields(PolicyRule)),
        ]
        assert lines[3] == ["2", *["any"] * 5, "loop", *["-"] * 5]
        assert [len(line) for line in lines] == [12] * 4
        assert lines[2][4] == str(2**64 - 1)

    def test_rules_are_given_by_name(self) -> None:
        with pytest.raises(TypeError):
            PolicyRule("host_to_device", engine="loop")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="engine"):
            PolicyRule()  # type: ignore[call-arg]


class TestCalls:
    """The options of a call."""

    def test_accepted(self, blocks: Blocks) -> None:
        for options in (
            {"priority": "compute"},
            {"priority": "throughput"},
            {"policy": POLICY},
            {"policy": Policy()},
            {"policy": None},
            {"prefer_overlap": False},
            {"priority": "compute", "policy": POLICY, "prefer_overlap": True},
        ):
            arguments: dict[str, Any] = blocks.swap_in_arguments() | options
            assert kvswap.swap_blocks_batch(**arguments, stream=2).submitted == BLOCKS
            assert kvswap.plan(**arguments, stream=2).copies == BLOCKS

    def test_the_first_rule_decides(self, blocks: Blocks, restored: None) -> None:
        arguments: dict[str, Any] = blocks.swap_in_arguments() | {"stream": 2}
        batch = PolicyRule(engine="batch")
        other = PolicyRule(engine="loop", direction="device_to_host")
        compute = PolicyRule(engine="loop", priority="compute")
        for rules, priority, engine in (
            ([LOOP], "throughput", "loop"),
            ([], "throughput", "batch"),
            ([batch, LOOP], "throughput", "batch"),
            ([other, batch], "throughput", "batch"),
            ([compute], "throughput", "batch"),
            ([compute], "compute", "loop"),
        ):
            policy = Policy(rules)
            options: dict[str, Any] = {"priority": priority, "policy": policy}
            assert kvswap.swap_blocks_batch(**arguments, **options).engine == engine
            kvswap.set_policy(policy)
            plan = kvswap.plan(**arguments, priority=priority)
            assert plan.engine_copies[engine] == BLOCKS
            # A call's own comes first, and a named engine before any policy.
            plan = kvswap.plan(**arguments, policy=Policy([batch]))
            assert plan.engine == "batch"
            assert kvswap.plan(**arguments, engine="loop").engine == "loop"

    def test_overlap_flag(
        self, blocks: Blocks, simulator: kvswap_sim.Simulator
    ) -> None:
        flags = []
        for prefer_overlap in (False, True):
            simulator.clear_trace()
            kvswap.swap_blocks_batch(
                **blocks.swap_in_arguments(),
                stream=2,
                engine="batch",
                prefer_overlap=prefer_overlap,
            )
            flags += [
                call.arguments["attribute_flags"]
                for call in simulator.trace("cuMemcpyBatchAsync")
            ]
        assert flags == [[0], [1]]

    @pytest.mark.parametrize("name", ["swap_in", "copy_blocks", "swap_out"])
    def test_pools(
        self, blocks: Blocks, driver: CudaDriver, name: str, simulator: Any
    ) -> None:
        source, target = (
            kvswap.BlockPool.from_regions([(address, BLOCK_BYTES, BLOCK_BYTES)], BLOCKS)
            for address in (blocks.host.address, blocks.gpu.address)
        )
        swap = getattr(kvswap, name)
        options: dict[str, Any] = {"stream": 2, "engine": "batch", "ticket": False}
        simulator.clear_trace()
        swap(
            source,
            target,
            [(0, 1)],
            priority="compute",
            policy=POLICY,
            prefer_overlap=True,
            **options,
        )
        driver.synchronize()
        (call,) = simulator.trace("cuMemcpyBatchAsync")
        assert call.arguments["attribute_flags"] == [1]
        for wrong, error in (
            ({"priority": "high"}, ValueError),
            ({"policy": [LOOP]}, TypeError),
            ({"prefer_overlap": 1}, TypeError),
        ):
            with pytest.raises(error, match=next(iter(wrong))):
                swap(source, target, [(0, 1)], **options, **wrong)


def test_references(blocks: Blocks, restored: None) -> None:
    arguments = blocks.swap_in_arguments() | {"stream": 2, "policy": POLICY}
    native = POLICY._native
    before = [sys.getrefcount(value) for value in (POLICY, native, None)]
    for _ in range(200):
        kvswap.plan(**arguments)
        kvswap.set_policy(POLICY)
    assert [sys.getrefcount(value) for value in (POLICY, native)] == before[:2]


def test_a_set_policy_outlives_its_object(restored: None) -> None:
    policy = Policy([PLAIN] * 100)
    kvswap.set_policy(policy)
    del policy
    other = Policy([BULK] * 100)
    assert kvswap.get_policy() == (PLAIN,) * 100 != other
