"""A mistake in cuda_driver_types.h that the ABI check has to notice."""

load("//toolchains/cc:compile_outcome_test.bzl", "compile_outcome_test")
load("//toolchains/cc:copts.bzl", "KVSWAP_COPTS")
load("//toolchains/cc:mutated_header.bzl", "mutated_header")
load("//toolchains/cuda:abi_matrix.bzl", "abi_matrix_test")
load("//toolchains/cuda:toolkits.bzl", "TOOLKITS", "select_by_toolkit")

def abi_mutation_test(name, before = "", after = "", error = "", since = TOOLKITS[0].version):
    """Compiles the ABI check, once per toolkit, against a mutated cuda_driver_types.h.

    Args:
      name: name of the suite.
      before: text of the header to replace; none in a control, which has to compile.
      after: what replaces it.
      error: what the compiler has to say.
      since: the first toolkit whose headers declare the thing. With older ones the
        check cannot notice, and compiles.
    """
    mutated_header(
        name = name + "_header",
        src = "//csrc/abi:cuda_driver_types.h",
        after = after,
        before = before,
        include_path = "csrc/abi/cuda_driver_types.h",
        tags = ["manual"],
    )
    compile_outcome_test(
        name = name + "_inner",
        src = "//csrc/abi:toolkit_abi_check.cc",
        copts = KVSWAP_COPTS,
        errors = select_by_toolkit({since: [error]}, otherwise = []) if before else [],
        outcome = select_by_toolkit({since: "fails"}, otherwise = "compiles") if before else "compiles",
        tags = ["manual"],
        deps = [
            # First: its folder hides the original.
            name + "_header",
            "//csrc/abi:toolkit_version",
            "//csrc/driver:driver_entries",
            "//toolchains/cuda:headers",
        ],
    )
    abi_matrix_test(
        name = name,
        size = "small",
        test = name + "_inner",
    )
