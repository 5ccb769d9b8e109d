"""The tool that writes wheels: same bytes for the same content, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolchains.python import wheel_maker


def specification(folder: Path, **changes: Any) -> dict[str, Any]:
    """A small wheel's, with its files in `folder`."""
    folder.mkdir(exist_ok=True)
    for name, text in {
        "a.py": "A = 1\n",
        "LICENSE": "Do as you like.\n",
        "README.md": "# Page\n\n[guide](docs/guide.md), [other](https://a.b/c), [here](#page)\n",
    }.items():
        (folder / name).write_text(text)
    return {
        "console_scripts": {},
        "description": str(folder / "README.md"),
        "distribution": "some-thing",
        "files": {"some/b.py": str(folder / "a.py"), "some/a.py": str(folder / "a.py")},
        "home_page": "",
        "license_files": {"LICENSE": str(folder / "LICENSE")},
        "metadata": ["Summary: Something"],
        "output": str(folder / "some_thing-1.0-py3-none-any.whl"),
        "python_headers": [],
        "tag": "py3-none-any",
        "version": "1.0",
        **changes,
    }


def make(folder: Path, **changes: Any) -> int:
    """Runs the tool; its exit status."""
    file = folder.with_suffix(".json")
    file.write_text(json.dumps(specification(folder, **changes)))
    return wheel_maker.main([str(file)])


def test_the_same_bytes(tmp_path: Path) -> None:
    assert make(tmp_path / "one") == 0
    files = specification(tmp_path / "one")["files"]
    assert make(tmp_path / "two", files=dict(reversed(files.items()))) == 0
    first, second = (
        (tmp_path / folder / "some_thing-1.0-py3-none-any.whl").read_bytes()
        for folder in ("one", "two")
    )
    assert first == second


def test_relative_links_become_text_where_no_address_is_known(tmp_path: Path) -> None:
    content = wheel_maker.wheel_content(specification(tmp_path))
    text = content["some_thing-1.0.dist-info/METADATA"].decode()
    assert "guide, [other](https://a.b/c), [here](#page)" in text
    assert "Project-URL" not in text


def test_relative_links_lead_into_the_tagged_tree(tmp_path: Path) -> None:
    content = wheel_maker.wheel_content(
        specification(tmp_path, home_page="https://host/kvswap/")
    )
    text = content["some_thing-1.0.dist-info/METADATA"].decode()
    assert "[guide](https://host/kvswap/blob/v1.0/docs/guide.md)" in text
    assert "[other](https://a.b/c), [here](#page)" in text
    assert "Project-URL: Source, https://host/kvswap\n" in text
    assert "Project-URL: Changelog, https://host/kvswap/blob/v1.0/CHANGELOG.md" in text


def test_console_scripts(tmp_path: Path) -> None:
    path = "some_thing-1.0.dist-info/entry_points.txt"
    assert path not in wheel_maker.wheel_content(specification(tmp_path))
    scripts = {"two": "some.b:run", "one": "some.a:main"}
    content = wheel_maker.wheel_content(
        specification(tmp_path, console_scripts=scripts)
    )
    assert content[path].decode() == (
        "[console_scripts]\none = some.a:main\ntwo = some.b:run\n"
    )
    record = content["some_thing-1.0.dist-info/RECORD"].decode()
    assert f"{path},sha256=" in record


@pytest.mark.parametrize(("minor", "status"), [(11, 0), (12, 1)])
def test_headers_of_another_python_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], minor: int, status: int
) -> None:
    header = tmp_path / "patchlevel.h"
    header.write_text(
        f"#define PY_MAJOR_VERSION\t3\n#define PY_MINOR_VERSION\t{minor}\n"
    )
    folder = tmp_path / "wheel"
    made = make(folder, tag="cp311-cp311-any", python_headers=[str(header)])
    assert made == status
    message = capsys.readouterr().err
    if status:
        assert (
            "the headers are those of cp312, and the wheel is to be of cp311" in message
        )
        assert "//toolchains/python:version" in message
        assert not (folder / "some_thing-1.0-py3-none-any.whl").exists()
    else:
        assert message == ""
