"""The system's shared libraries, in the place that they have in a link of a release."""

_SYSTEM_LIBRARIES = [
    "libgcc_s.so.1",
    "libm.so.6",
    "libc.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libld.so.2",
]

# The compiler hands shared libraries, and linker scripts that it recognises, to its
# linker after all archives, whatever their order. Objects keep their place, and the
# linker looks at what is in a file and not at its name.
SYSTEM_LIBRARIES_SCRIPT = "system_libraries.o"

def system_libraries_script(folder):
    """The text of the linker script.

    Args:
      folder: of the libraries, from the folder in which the linker runs.

    Returns:
      a text
    """
    return "INPUT(AS_NEEDED({}))\n".format(
        " ".join([folder + "/" + library for library in _SYSTEM_LIBRARIES]),
    )
