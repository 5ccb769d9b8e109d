"""Lists of what users rely on: as committed, as it is now, and the difference.

A list is a text file of lines `name: description`. A name that comes is an addition; one
that goes or is described otherwise is a break, and a list can have rules of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

FOLDER = Path("tests/stability/lists")
UPDATE = "./bazelw run //tests/stability:update"

Entries = dict[str, str]
Rule = Callable[[Entries, Entries], dict[str, str]]
"""Why an addition or a change is no such thing as it looks, by name.

Takes the entries as committed and as they are. A reason that is not empty makes a
difference a break, an empty one makes it an addition.
"""


def no_rule(before: Entries, now: Entries) -> dict[str, str]:
    """What is added is an addition, everything else is a break."""
    return {}


def _line(name: str, description: str) -> str:
    return f"{name}: {description}" if description else name


@dataclasses.dataclass(frozen=True)
class CommittedList:
    """One list.

    Attributes:
        name: of its file, without the suffix.
        title: what it lists.
        collect: reads the product.
        rule: what this list judges otherwise.
    """

    name: str
    title: str
    collect: Callable[[], Entries]
    rule: Rule = no_rule

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.txt"

    def text(self) -> str:
        """The file as it would have to be."""
        lines = [_line(*entry) for entry in sorted(self.collect().items())]
        head = f"# {self.title}\n# Written by: {UPDATE}\n"
        return head + "".join(line + "\n" for line in lines)


@dataclasses.dataclass(frozen=True)
class Differences:
    """What has changed, a line each."""

    additions: list[str]
    breaks: list[str]

    def __bool__(self) -> bool:
        return bool(self.additions or self.breaks)

    def __str__(self) -> str:
        return "\n".join(
            [f"  addition  {line}" for line in self.additions]
            + [f"  BREAK     {line}" for line in self.breaks]
        )


def parse(text: str) -> Entries:
    """The entries of a file."""
    entries: Entries = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, description = line.partition(": ")
            if name in entries:
                raise ValueError(f"{name} is listed twice")
            entries[name] = description
    return entries


def compare(before: Entries, now: Entries, rule: Rule = no_rule) -> Differences:
    """What became of a list."""
    reasons = rule(before, now)
    additions: list[str] = []
    breaks: list[str] = []
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            line, is_break = f"removed: {_line(name, before[name])}", True
        elif name not in before:
            line, is_break = f"added:   {_line(name, now[name])}", False
        elif before[name] != now[name]:
            line, is_break = (
                f"changed: {_line(name, before[name])} -> {now[name]}",
                True,
            )
        else:
            continue
        if name in reasons:
            is_break = bool(reasons[name])
            line += f" ({reasons[name]})" if reasons[name] else ""
        (breaks if is_break else additions).append(line)
    return Differences(additions, breaks)


def check(committed: CommittedList, text: str) -> None:
    """Fails where the product is not what the text of the list says."""
    differences = compare(parse(text), committed.collect(), committed.rule)
    if not differences:
        return
    if differences.breaks:
        advice = (
            "A break is seen by those who use kvswap: undo it, or keep the old beside "
            "the new as docs/versions.md says. Where that file allows it, "
            f"`{UPDATE} -- --accept-breaks` updates the list; say it in CHANGELOG.md "
            'under "Incompatible changes".'
        )
    else:
        advice = (
            f"If it is meant: `{UPDATE}` updates the list; say it in CHANGELOG.md. "
            "From then on it is promised, as docs/versions.md says."
        )
    raise AssertionError(
        f"{committed.title}: not as {committed.path} says\n{differences}\n{advice}"
    )
