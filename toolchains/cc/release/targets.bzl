"""What releases are compiled for: the one list.

`glibc` is the oldest that the wheels run on; `platform_tag` promises it to pip
(PEP 600), and tests/wheel holds the binaries to it.
"""

def _target(cpu, glibc, header_cpu):
    return struct(
        # As in @platforms//cpu and in platform tags.
        cpu = cpu,
        glibc = glibc,
        # As the compiler's folders of headers name it.
        header_cpu = header_cpu,
        platform_tag = "manylinux_{}_{}".format(glibc.replace(".", "_"), cpu),
        # As the compiler names it.
        triple = "{}-linux-gnu.{}".format(cpu, glibc),
    )

RELEASE_TARGETS = [
    _target("x86_64", glibc = "2.28", header_cpu = "x86"),
    _target("aarch64", glibc = "2.28", header_cpu = "aarch64"),
]
