"""Driver versions that the ABI matrix's tests run on."""

import os

# Every version at which something that kvswap depends on changed, and neighbours:
# 11.4 the oldest supported, 12.0 cuGetProcAddress_v2 and the kernels' images, 12.1
# parameters of 32 KB, 12.8 the batch call with 9 arguments, 13.0 the function of 8
# arguments under the same name.
ALL = (
    "11.4",
    "11.8",
    "12.0",
    "12.1",
    "12.4",
    "12.7",
    "12.8",
    "12.9",
    "13.0",
    "13.5",
)


def number(version: str) -> int:
    """CUDA_VERSION of a version: 12080 of "12.8"."""
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10


BEFORE_BATCH = tuple(version for version in ALL if number(version) < 12080)
WITH_BATCH = tuple(version for version in ALL if number(version) >= 12080)
# Parts of BEFORE_BATCH.
BEFORE_12_1 = tuple(version for version in ALL if number(version) < 12010)
BEFORE_12_8 = tuple(v for v in BEFORE_BATCH if v not in BEFORE_12_1)

# The first drivers that load the kernels' images: a toolkit compiles the images of its
# matrix row, and a driver refuses those of a later major version.
IMAGES_SINCE = (
    "13.0"
    if number(os.environ.get("KVSWAP_MATRIX_TOOLKIT") or "12.0") >= 13000
    else "12.0"
)

# Functions that drivers before a version lack.
SINCE = {"cuCtxGetId": "12.0", "cuMemcpyBatchAsync": "12.8"}

# Those with the function of 8 arguments.
WITH_EIGHT_ARGUMENTS = ("13.0", "13.5")
