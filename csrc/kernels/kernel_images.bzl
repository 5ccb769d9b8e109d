"""The device images: compiled by NVRTC, and embedded as a C++ source."""

load("//toolchains/cuda:toolkits.bzl", "cuda_version_number")
load("//toolchains/python:python_tool.bzl", "PythonToolInfo", "run_python_tool")
load(":image_targets.bzl", "BULK_CAPABILITY", "IMAGE_TARGETS", "PARAMETER_SIZES")

_NVRTC = Label("//toolchains/cuda:nvrtc_toolchain_type")

def _name_in_repository(file):
    """A file's name as our sources include it."""
    path = file.short_path
    return path.split("/", 2)[2] if path.startswith("../") else path

def _is_known(target, version):
    number = cuda_version_number(version)
    return (
        (not target.since or cuda_version_number(target.since) <= number) and
        (not target.before or number < cuda_version_number(target.before))
    )

def _compile(ctx, nvrtc, target, suffix):
    """Declares the action that makes an image; what the embedding has to know of it."""
    parameter_bytes = PARAMETER_SIZES[suffix]
    image = ctx.actions.declare_file("{}/{}_{}.{}".format(
        ctx.label.name,
        target.architecture,
        suffix,
        "ptx" if target.is_ptx else "cubin",
    ))
    name = "{}, {} bytes of parameters, NVRTC {}".format(
        target.architecture,
        parameter_bytes,
        nvrtc.version,
    )
    arguments = ctx.actions.args()
    arguments.add("--image", name)
    arguments.add("--library", nvrtc.library)
    arguments.add("--builtins", nvrtc.builtins)
    arguments.add("--version", nvrtc.version)
    arguments.add("--architecture", target.architecture)
    arguments.add_all([
        "--std=c++17",
        "-DKVSWAP_PARAMETER_BYTES={}".format(parameter_bytes),
        "-DKVSWAP_KERNEL_SUFFIX={}".format(suffix),
    ], format_each = "--option=%s")
    arguments.add("--source", ctx.file.src)
    arguments.add("--source_name", _name_in_repository(ctx.file.src))
    for header in ctx.files.hdrs:
        arguments.add(header, format = "--header={}=%s".format(_name_in_repository(header)))
    arguments.add("--output", image)
    run_python_tool(
        ctx,
        tool = ctx.attr._compiler,
        arguments = arguments,
        inputs = [ctx.file.src, nvrtc.library, nvrtc.builtins] + ctx.files.hdrs,
        mnemonic = "KernelImage",
        outputs = [image],
        progress_message = "Compiling device kernels for " + name,
        toolchain = _NVRTC,
    )
    return struct(
        compute_capability = target.capability,
        file = image,
        has_bulk = target.capability >= BULK_CAPABILITY,
        is_ptx = target.is_ptx,
        name = name,
        parameter_bytes = parameter_bytes,
    )

def _as_json(image):
    return json.encode({
        "compute_capability": image.compute_capability,
        "has_bulk": image.has_bulk,
        "is_ptx": image.is_ptx,
        "name": image.name,
        "parameter_bytes": image.parameter_bytes,
        "path": image.file.path,
    })

def _kernel_images_impl(ctx):
    nvrtc = ctx.toolchains[_NVRTC].nvrtc
    images = [
        _compile(ctx, nvrtc, target, suffix)
        for target in IMAGE_TARGETS
        if _is_known(target, nvrtc.version)
        for suffix in PARAMETER_SIZES
    ]
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    arguments = ctx.actions.args()
    arguments.add(source)
    arguments.add_all(images, map_each = _as_json)
    files = [image.file for image in images]
    run_python_tool(
        ctx,
        tool = ctx.attr._embedder,
        arguments = arguments,
        inputs = files,
        mnemonic = "EmbedKernelImages",
        outputs = [source],
        progress_message = "Embedding device kernels",
        toolchain = None,
    )
    return [
        DefaultInfo(files = depset([source])),
        OutputGroupInfo(images = depset(files)),
    ]

kernel_images = rule(
    doc = """\
A C++ source that defines what kernel_images.h declares.

The images are those of image_targets.bzl that the selected NVRTC knows; the output group
`images` has them as files, `sm_90_32k.cubin`.
""",
    implementation = _kernel_images_impl,
    attrs = {
        "hdrs": attr.label_list(
            doc = "What the source includes.",
            allow_files = [".h"],
        ),
        "src": attr.label(
            doc = "The source of all kernels.",
            allow_single_file = [".cu"],
            mandatory = True,
        ),
        "_compiler": attr.label(
            default = "//toolchains/cuda:nvrtc_compile",
            cfg = "exec",
            providers = [PythonToolInfo],
        ),
        "_embedder": attr.label(
            default = "//csrc/kernels:embed_kernel_images",
            cfg = "exec",
            providers = [PythonToolInfo],
        ),
    },
    toolchains = [_NVRTC],
)
