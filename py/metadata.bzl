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

# Names and modules of the programs that pip makes, from the command to its function.
KVSWAP_CONSOLE_SCRIPTS = {
    "kvswap": "kvswap.command_line:main",
}

def _extras(version):
    """What `pip install kvswap[extra]` brings, from the extra to its requirements.

    Args:
      version: the distribution's version.

    Returns:
      a dict from names of extras to lists of requirements
    """
    extras = {
        # Tables, colours and live displays of the program.
        "terminal": ["rich>=13"],
        # `kvswap bench --plot`.
        "plot": ["matplotlib>=3.7"],
        # Ranges in profilers.
        "nvtx": ["nvtx>=0.2"],
        # The simulated driver.
        "sim": ["kvswap-sim==" + version],
        "torch": ["torch>=2.10"],
    }
    extras["all"] = [
        requirement
        for extra in ["terminal", "plot", "nvtx", "sim"]
        for requirement in extras[extra]
    ]
    return extras

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
        # The program `kvswap`.
        "Requires-Dist: absl-py>=2.0",
    ] + [
        line
        for extra, requirements in _extras(version).items()
        for line in ["Provides-Extra: " + extra] + [
            "Requires-Dist: {}; extra == \"{}\"".format(requirement, extra)
            for requirement in requirements
        ]
    ]

def kvswap_sim_metadata():
    """METADATA lines of the distribution kvswap-sim.

    Returns:
      a list of lines
    """
    return _COMMON + [
        "Summary: A simulated CUDA driver: try and test kvswap without a GPU",
    ]
