"""The bill of materials of a release, in CycloneDX JSON.

The same wheels and locks give the same bytes: there is no time in it unless
SOURCE_DATE_EPOCH gives one, and its serial number is made from its content.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
import uuid
from pathlib import Path
from typing import Any

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from release.wheel_files import DISTRIBUTION, Wheel

PYBIND11_LOCK = Path("toolchains/python/pybind11.lock")
COMPILER_LOCK = Path("toolchains/cc/release/zig.lock")
# Of the toolkit that compiles device kernels where none is selected: DEFAULT_NVRTC in
# toolchains/cuda/toolkits.bzl.
NVRTC_LOCK = Path("toolchains/cuda/locks/nvrtc_12.8.lock")
NVRTC = "nvidia-cuda-nvrtc-cu12"

# What the release compiler links into every binary, out of its own sources. The unwinder
# is the system's.
_RUNTIME_LIBRARIES = ("libc++", "libc++abi")
_RUNTIME_LICENSE = "Apache-2.0 WITH LLVM-exception"

# Serial numbers are names in this space.
_SERIAL_NUMBERS = uuid.uuid5(uuid.NAMESPACE_DNS, "releases.kvswap.invalid")


class LockError(Exception):
    """A lock file is missing or cannot be read; the message names it."""


@dataclasses.dataclass(frozen=True)
class LockedPackage:
    """A package of a lock file.

    Attributes:
        name: on the package index.
        version: of it.
        hashes: sha256 of the files that are accepted.
    """

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def package_url(self) -> PackageURL:
        return PackageURL("pypi", None, self.name, self.version)


def read_lock(path: Path, name: str) -> LockedPackage:
    """Reads one package out of a lock file in the form of pip's requirements.

    Raises:
        LockError: it is missing, cannot be read, or does not name the package.
    """
    if not path.is_file():
        raise LockError(f"{path}: is missing, so the version of {name} is not known")
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(f"{path}: cannot be read: {error}") from error
    text = re.sub(r"\\\n", " ", content)
    match = re.search(rf"^{re.escape(name)}==(\S+)(.*)$", text, re.MULTILINE)
    if match is None:
        raise LockError(f"{path}: has no line `{name}==VERSION`")
    hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", match[2])
    return LockedPackage(name, match[1], tuple(sorted(hashes)))


def _hashes(digests: tuple[str, ...]) -> list[HashType]:
    # With more than one file it is not known which of them was used.
    if len(digests) != 1:
        return []
    return [HashType(alg=HashAlgorithm.SHA_256, content=digests[0])]


def _component_of(package: LockedPackage, license: DisjunctiveLicense) -> Component:
    reference = package.package_url.to_string()
    return Component(
        name=package.name,
        version=package.version,
        purl=package.package_url,
        bom_ref=reference,
        licenses=[license],
        hashes=_hashes(package.hashes),
    )


def _product(version: str) -> Component:
    package = LockedPackage(DISTRIBUTION, version, ())
    return _component_of(package, DisjunctiveLicense(id="Apache-2.0"))


def _wheel(wheel: Wheel) -> Component:
    url = PackageURL(
        "pypi",
        None,
        wheel.distribution,
        str(wheel.version),
        {"file_name": wheel.path.name},
    )
    return Component(
        type=ComponentType.FILE,
        name=wheel.path.name,
        version=str(wheel.version),
        purl=url,
        bom_ref=url.to_string(),
        licenses=[DisjunctiveLicense(id="Apache-2.0")],
        hashes=_hashes((wheel.sha256,)),
    )


def _compiler(compiler: LockedPackage) -> Component:
    component = _component_of(compiler, DisjunctiveLicense(id="MIT"))
    component.description = (
        "The compiler; these of its runtime libraries are linked in."
    )
    component.components = {
        Component(
            name=library,
            bom_ref=f"{component.bom_ref.value}#{library}",
            licenses=[LicenseExpression(_RUNTIME_LICENSE)],
        )
        for library in _RUNTIME_LIBRARIES
    }
    return component


def _device_compiler(nvrtc: LockedPackage) -> Component:
    component = _component_of(
        nvrtc, DisjunctiveLicense(name="NVIDIA CUDA Toolkit End User License Agreement")
    )
    component.description = "The compiler of the device kernels; nothing is linked in."
    return component


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write(
    version: str,
    wheels: list[Wheel],
    pybind11: LockedPackage,
    nvrtc: LockedPackage,
    compiler: LockedPackage | None,
    source_date_epoch: int | None,
) -> str:
    """The bill of materials as text.

    Args:
        version: of the release.
        wheels: what is released.
        pybind11: compiled into the extension modules.
        nvrtc: the compiler of the device kernels.
        compiler: the release compiler, or None where it was not used.
        source_date_epoch: the time to give, in seconds, or None for none.
    """
    product = _product(version)
    compiled_in = [
        _component_of(pybind11, DisjunctiveLicense(id="BSD-3-Clause")),
        _device_compiler(nvrtc),
    ]
    if compiler is not None:
        compiled_in.append(_compiler(compiler))
    time = datetime.datetime.fromtimestamp(
        source_date_epoch or 0, datetime.timezone.utc
    )
    bom = Bom(
        components=[*map(_wheel, wheels), *compiled_in],
        metadata=BomMetaData(component=product, timestamp=time),
        serial_number=_SERIAL_NUMBERS,
    )
    bom.register_dependency(product, compiled_in)
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    if source_date_epoch is None:
        del document["metadata"]["timestamp"]
    serial_number = uuid.uuid5(_SERIAL_NUMBERS, _text(document))
    document["serialNumber"] = serial_number.urn
    return _text(document)
