"""Wheels: what py_library targets hold, as a file that pip installs."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":text_flag.bzl", "TextFlagInfo")

def _is_of_packages(file, label, packages):
    owner = file.owner
    return owner != None and owner.workspace_name == label.workspace_name and owner.package in packages

def _path_in_wheel(file, root):
    """Where a file of ours goes: its path below the root of Python packages."""
    path = file.short_path
    if path.startswith("../"):
        # Of an external repository: ../name/path.
        path = path.split("/", 2)[2]
    if not path.startswith(root + "/"):
        fail("{} is not below {}".format(file.path, root))
    return path[len(root) + 1:]

def _python_wheel_impl(ctx):
    files = {}
    for dep in ctx.attr.deps:
        for file in dep[DefaultInfo].default_runfiles.files.to_list():
            if _is_of_packages(file, ctx.label, ctx.attr.packages):
                files[_path_in_wheel(file, ctx.attr.root)] = file
    if not files:
        fail("none of `deps` has a file in `packages`")
    for module in ctx.attr.extension_modules:
        if module not in files:
            fail("`extension_modules`: none of `deps` has " + module)
        files[module.removesuffix(".so") + ctx.attr.extension_suffix] = files.pop(module)

    licenses = {}
    for target, folder in ctx.attr.license_files.items():
        for file in target[DefaultInfo].files.to_list():
            licenses[(folder + "/" if folder else "") + file.basename] = file

    tag = "-".join([ctx.attr.python_tag, ctx.attr.abi_tag, ctx.attr.platform_tag])
    wheel = ctx.actions.declare_file("{}-{}-{}.whl".format(
        ctx.attr.distribution.replace("-", "_"),
        ctx.attr.version,
        tag,
    ))
    specification = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(specification, json.encode_indent({
        "console_scripts": ctx.attr.console_scripts,
        "description": ctx.file.description.path,
        "distribution": ctx.attr.distribution,
        "files": {path: file.path for path, file in files.items()},
        "home_page": ctx.attr.home_page[TextFlagInfo].value,
        "license_files": {path: file.path for path, file in licenses.items()},
        "metadata": ctx.attr.metadata,
        "output": wheel.path,
        "python_headers": [
            file.path
            for dep in ctx.attr.python_headers
            for file in dep[CcInfo].compilation_context.headers.to_list()
            if file.basename == "patchlevel.h"
        ],
        "tag": tag,
        "version": ctx.attr.version,
    }))

    headers = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.python_headers]
    ctx.actions.run(
        arguments = [specification.path],
        executable = ctx.executable._wheel_maker,
        inputs = depset(
            [specification, ctx.file.description] + files.values() + licenses.values(),
            transitive = headers,
        ),
        mnemonic = "PythonWheel",
        outputs = [wheel],
        progress_message = "Packing %{output}",
    )
    return [DefaultInfo(
        files = depset([wheel]),
        runfiles = ctx.runfiles(files = [wheel]),
    )]

python_wheel = rule(
    doc = """\
A wheel, the same bytes for the same content.

It holds the runtime files of `deps` that belong to `packages`: sources, type stubs,
libraries. Files of other packages are left to other wheels.
""",
    implementation = _python_wheel_impl,
    attrs = {
        "abi_tag": attr.string(
            doc = "\"cp311\"; \"none\" where no file depends on Python's ABI.",
            mandatory = True,
        ),
        "console_scripts": attr.string_dict(
            doc = "Programs that pip makes, from the name to what they call, as " +
                  "\"package.module:function\".",
        ),
        "deps": attr.label_list(
            doc = "py_library targets.",
            mandatory = True,
        ),
        "description": attr.label(
            doc = "The project's page, in Markdown.",
            allow_single_file = [".md"],
            mandatory = True,
        ),
        "distribution": attr.string(
            doc = "The name that pip knows.",
            mandatory = True,
        ),
        "extension_modules": attr.string_list(
            doc = "Files of extension modules, as \"package/module.so\": they get the name that " +
                  "no other version of Python takes for its own.",
        ),
        "extension_suffix": attr.string(
            doc = "The end of their names, as \".cpython-311-x86_64-linux-gnu.so\".",
        ),
        "home_page": attr.label(
            doc = "text_flag with the address of the source repository; relative links of the " +
                  "description are completed with it. Empty: none is known.",
            mandatory = True,
            providers = [TextFlagInfo],
        ),
        "license_files": attr.label_keyed_string_dict(
            doc = "From targets with licence texts to their folder among the wheel's licences.",
            allow_files = True,
        ),
        "metadata": attr.string_list(
            doc = "Further lines of the wheel's METADATA, as \"Requires-Python: >=3.10\".",
        ),
        "packages": attr.string_list(
            doc = "Bazel packages whose files the wheel holds.",
            mandatory = True,
        ),
        "platform_tag": attr.string(
            doc = "As \"manylinux_2_28_x86_64\".",
            mandatory = True,
        ),
        "python_headers": attr.label_list(
            doc = "The cc_library of Python.h that the wheel's module was compiled with: it is " +
                  "checked to be of the version that `python_tag` names. Empty: there is no such module.",
            providers = [CcInfo],
        ),
        "python_tag": attr.string(
            doc = "\"cp311\" or \"py3\".",
            mandatory = True,
        ),
        "root": attr.string(
            doc = "The folder of Python packages, from the top of the repository.",
            mandatory = True,
        ),
        "version": attr.string(
            doc = "Version of the distribution.",
            mandatory = True,
        ),
        "_wheel_maker": attr.label(
            cfg = "exec",
            default = Label("//toolchains/python:wheel_maker"),
            executable = True,
        ),
    },
)

def _installed_wheels_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    arguments = ctx.actions.args()
    arguments.add(folder.path)
    arguments.add_all(ctx.files.wheels)
    ctx.actions.run(
        arguments = [arguments],
        executable = ctx.executable._wheel_installer,
        inputs = ctx.files.wheels,
        mnemonic = "InstallWheels",
        outputs = [folder],
        progress_message = "Installing %{input}",
    )
    return [DefaultInfo(
        files = depset([folder]),
        runfiles = ctx.runfiles(files = [folder]),
    )]

installed_wheels = rule(
    doc = "A folder with the content of wheels, as pip lays it out in site-packages.",
    implementation = _installed_wheels_impl,
    attrs = {
        "wheels": attr.label_list(
            doc = "The wheels.",
            allow_files = [".whl"],
            mandatory = True,
        ),
        "_wheel_installer": attr.label(
            cfg = "exec",
            default = Label("//toolchains/python:wheel_installer"),
            executable = True,
        ),
    },
)
