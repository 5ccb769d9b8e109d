"""The versions of Python that wheels are made for: the one list."""

# Values of the flag //toolchains/python:version, besides MACHINE_PYTHON.
PYTHON_VERSIONS = [
    "3.10",
    "3.11",
    "3.12",
    "3.13",
    "3.14",
]

# The default: the Python that repository rules find on the machine.
MACHINE_PYTHON = "machine"
