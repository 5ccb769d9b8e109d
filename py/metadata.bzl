"""What the wheels say of themselves: core metadata, as lines."""

_COMMON = [
    "Author: The kvswap developers",
    "Requires-Python: >=3.10",
    "Keywords: CUDA, KV cache, LLM inference, offloading, GPU, memory copy",
    "Classifier: Development Status :: 4 - Beta",
    "Classifier: Environment :: GPU :: NVIDIA CUDA",
    "Classifier: Intended Audience :: Developers",
    "Classifier: Operating System :: POSIX :: Linux",
    "Classifier: Programming Language :: C++",
    "Classifier: Programming Language :: Python :: 3",
    "Classifier: Programming Language :: Python :: 3 :: Only",
    "Classifier: Programming Language :: Python :: Implementation :: CPython",
    "Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Classifier: Topic :: Software Development :: Libraries",
    "Classifier: Typing :: Typed",
]

def kvswap_metadata(version, python_versions):
    """METADATA lines of the distribution kvswap.

    Args:
      version: its version.
      python_versions: the versions of Python that it is released for.

    Returns:
      a list of lines
    """
    return _COMMON + [
        "Classifier: Programming Language :: Python :: " + python_version
        for python_version in python_versions
    ] + [
        "Summary: Moves KV-cache blocks between GPU and host memory, on any CUDA driver and stream",
        # `python -m kvswap`.
        "Requires-Dist: absl-py>=2.0",
        "Provides-Extra: sim",
        "Requires-Dist: kvswap-sim=={}; extra == \"sim\"".format(version),
        "Provides-Extra: torch",
        "Requires-Dist: torch>=2.10; extra == \"torch\"",
    ]

def kvswap_sim_metadata():
    """METADATA lines of the distribution kvswap-sim.

    Returns:
      a list of lines
    """
    return _COMMON + [
        "Summary: A simulated CUDA driver: try and test kvswap without a GPU",
    ]
