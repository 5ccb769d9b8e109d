"""Driver versions that the ABI matrix's tests run on."""

# Every version at which something that kvswap depends on changed, and neighbours:
# 11.4 the oldest supported, 12.0 cuGetProcAddress_v2, 12.8 the batch call with 9
# arguments, 13.0 the function of 8 arguments under the same name.
BEFORE_BATCH = ("11.4", "11.8", "12.0", "12.4", "12.7")
WITH_BATCH = ("12.8", "12.9", "13.0", "13.5")
ALL = BEFORE_BATCH + WITH_BATCH

# Those with the function of 8 arguments.
WITH_EIGHT_ARGUMENTS = ("13.0", "13.5")


def number(version: str) -> int:
    """CUDA_VERSION of a version: 12080 of "12.8"."""
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10
