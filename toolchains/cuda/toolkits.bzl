"""All CUDA toolkits that kvswap knows: the one list that everything follows.

Flag values, config_settings, toolchains, repositories and the tests of the ABI
matrix are made from TOOLKITS. A further toolkit is one entry here and its lock
files `locks/<version>.lock` and `locks/nvrtc_<version>.lock`;
docs/adding_a_toolkit.md shows it.
"""

def _toolkit(version, include, nvrtc, matrix):
    return struct(
        # "12.4": the value of the flag //toolchains/cuda:toolkit.
        version = version,
        # Where <cuda.h> lies inside the wheel.
        include = include,
        # Where libnvrtc.so lies inside its wheel.
        nvrtc = nvrtc,
        # Whether tests of the ABI matrix run on it under `bazel test //...`. For
        # the others they exist too, tagged "manual": see further_toolkits_suite.
        matrix = matrix,
        # CUDA_VERSION in its <cuda.h>.
        cuda_version = cuda_version_number(version),
        # The repository that holds its wheel.
        repository = "kvswap_cuda_" + version,
        # The one that holds the wheel with NVRTC, fetched when kernels are compiled.
        nvrtc_repository = "kvswap_nvrtc_" + version,
    )

def is_toolkit_version(text):
    """Whether a text is a major and a minor version.

    Args:
      text: "12.4"

    Returns:
      a bool
    """
    numbers = text.split(".")
    return len(numbers) == 2 and all([number.isdigit() for number in numbers])

def cuda_version_number(version):
    """CUDA_VERSION of a toolkit.

    Args:
      version: "12.4"

    Returns:
      12040
    """
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10

# Ascending.
TOOLKITS = [
    _toolkit("12.4", include = "nvidia/cuda_runtime/include", nvrtc = "nvidia/cuda_nvrtc/lib", matrix = True),
    _toolkit("12.8", include = "nvidia/cuda_runtime/include", nvrtc = "nvidia/cuda_nvrtc/lib", matrix = True),
    _toolkit("12.9", include = "nvidia/cuda_runtime/include", nvrtc = "nvidia/cuda_nvrtc/lib", matrix = False),
    _toolkit("13.0", include = "nvidia/cu13/include", nvrtc = "nvidia/cu13/lib", matrix = True),
    _toolkit("13.5", include = "nvidia/cu13/include", nvrtc = "nvidia/cu13/lib", matrix = False),
]

# The toolkit whose NVRTC compiles the device kernels where no toolkit is selected, as in
# releases, or a custom one without NVRTC. 12.x makes cubins of the ELF OS ABI 0x33, which
# drivers since CUDA 12.0 (525) load; those of 13.x (0x41) need a driver of CUDA 13. For
# Blackwell (sm_100, sm_120) all make 0x41, 12.8 being the first, as with its drivers.
DEFAULT_NVRTC = "12.8"

# The oldest whose kernels take 32,764 bytes of parameters.
OLDEST_NVRTC = "12.1"

# Flag values that name no toolkit of the list. NO_TOOLKIT is the default;
# CUSTOM_TOOLKIT is whatever //toolchains/cuda:custom_toolkit points to.
NO_TOOLKIT = "none"
CUSTOM_TOOLKIT = "custom"

FLAG_VALUES = [NO_TOOLKIT] + [toolkit.version for toolkit in TOOLKITS] + [CUSTOM_TOOLKIT]

def toolkits_between(since = None, before = None):
    """The toolkits of a range of versions.

    Args:
      since: the first version, as "12.8"; None: from the oldest.
      before: the first version that is no longer meant; None: to the newest.

    Returns:
      a list of entries of TOOLKITS
    """
    first = cuda_version_number(since) if since else 0
    end = cuda_version_number(before) if before else 1000 * 1000
    return [t for t in TOOLKITS if first <= t.cuda_version and t.cuda_version < end]

def select_by_toolkit(ranges, otherwise):
    """A select() on the selected toolkit, by ranges of versions.

    New toolkits fall into the range they belong to; nothing has to be edited.

    Args:
      ranges: dict from the version at which a range begins ("12.8") to the value
        in that range, which ends where the next one begins.
      otherwise: the value for older toolkits, for none and for a custom one.

    Returns:
      a select()
    """
    starts = sorted(ranges.keys(), key = cuda_version_number)
    branches = {"//conditions:default": otherwise}
    for toolkit in TOOLKITS:
        for start in starts:
            if cuda_version_number(start) <= toolkit.cuda_version:
                branches[Label("//toolchains/cuda:is_" + toolkit.version)] = ranges[start]
    return select(branches)
