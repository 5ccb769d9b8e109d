"""Fuzz targets."""

load("@rules_cc//cc:cc_binary.bzl", "cc_binary")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc:cc_test.bzl", "cc_test")
load("//toolchains/cc:copts.bzl", "KVSWAP_COPTS")

_IS_FUZZING = Label("//tests/fuzz:is_fuzzing")

def fuzz_target(name, src, deps, data = [], env = {}):
    """A fuzz target, and a test that gives it the inputs of its corpus.

    `name` is the program: by itself it takes files and folders of inputs; with
    --config=fuzz it is libFuzzer. `<name>_test` runs the inputs in corpus/<name> without
    its "_fuzzer".

    Args:
      name: as "image_fuzzer".
      src: the source, with the functions of fuzz_target.h.
      deps: what it is linked with.
      data: what it needs when it runs.
      env: environment of the program and the test.
    """
    corpus = native.glob(["corpus/{}/*".format(name.removesuffix("_fuzzer"))])
    cc_library(
        name = name + "_code",
        testonly = True,
        srcs = [src],
        copts = KVSWAP_COPTS,
        linkstatic = True,
        deps = deps + [Label("//tests/fuzz:fuzz_target")],
        alwayslink = True,
    )
    for rule, suffix, attributes in [
        (cc_binary, "", {}),
        (cc_test, "_test", {
            "args": ["$(rootpath {})".format(file) for file in corpus],
            "size": "small",
        }),
    ]:
        rule(
            name = name + suffix,
            testonly = True,
            srcs = select({
                _IS_FUZZING: [],
                "//conditions:default": [Label("//tests/fuzz:replay_main.cc")],
            }),
            copts = KVSWAP_COPTS,
            data = data + (corpus if suffix else []),
            env = env,
            # Libraries that are loaded later find the runtime in the program.
            linkopts = ["-ldl", "-lpthread"] + select({
                _IS_FUZZING: ["-fsanitize=fuzzer", "-rdynamic"],
                "//conditions:default": [],
            }),
            linkstatic = True,
            deps = [":{}_code".format(name), Label("//tests/fuzz:fuzz_target")],
            **attributes
        )
