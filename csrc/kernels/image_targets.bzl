"""What the device kernels are compiled for: the one list."""

def _target(capability, is_ptx = False, since = None, before = None):
    return struct(
        # As NVRTC names it: sm_ makes a cubin, which runs on newer minor versions of the
        # same major one, compute_ makes PTX, which drivers compile for all newer GPUs.
        architecture = ("compute_" if is_ptx else "sm_") + str(capability),
        capability = capability,
        is_ptx = is_ptx,
        # The first toolkit that knows it, and the first that no longer does.
        since = since,
        before = before,
    )

# Ascending, PTX last: for what no cubin runs on.
IMAGE_TARGETS = [
    _target(75),
    _target(80),
    _target(90),
    _target(100, since = "12.8"),
    _target(120, since = "12.8"),
    _target(90, is_ptx = True),
]

# From the suffix of the kernels' names to the most bytes of parameters that they take:
# kSmallParameterBytes and kLargeParameterBytes of kernel_parameters.h.
PARAMETER_SIZES = {
    "4k": 4096,
    "32k": 32764,
}

# The first capability that has the bulk kernels' instructions.
BULK_CAPABILITY = 90
