"""buildifier from its npm package, as a repository.

npm does the download, so that registries, mirrors and proxies that the machine's npm is
set up for are honoured, and checks the hashes.
"""

_BUILD = """\
package(default_visibility = ["//visibility:public"])

# The program, or, without npm, one that says so and fails.
filegroup(
    name = "buildifier",
    srcs = ["{program}"],
)

# Nothing. What depends on it is skipped where there is no npm.
filegroup(
    name = "needs_npm",
    target_compatible_with = {compatible_with},
)
"""

_NO_NPM = """\
#!/bin/sh
echo "there is no buildifier, because there was no npm on Bazel's PATH: install npm" \\
    "(Debian: apt-get install npm)" >&2
exit 1
"""

# Of Bazel's names of processors, those that the package has programs for, by its own.
_PROCESSORS = {
    "aarch64": "arm64",
    "amd64": "amd64",
    "arm64": "arm64",
    "riscv64": "riscv64",
    "x86_64": "amd64",
}

_MAKE_LOCK = "make it anew: `npm install --package-lock-only --omit-lockfile-registry-resolved` in toolchains/npm"

def _errors(output):
    """npm's error messages, in one line."""
    errors = []
    for line in output.splitlines():
        for mark in ("npm error ", "npm ERR! "):
            if line.startswith(mark):
                errors.append(line.removeprefix(mark).strip())

    # Without the stack of JavaScript functions.
    errors = [error for error in errors if error and not error.startswith("at ")]
    return "; ".join(errors)[:250] or "(no error message)"

def _explain(output):
    """What went wrong in npm, in a line that names the fix."""
    errors = _errors(output)
    if "code EINTEGRITY" in errors:
        return ("the registry serves a file whose SHA-512 is not in package-lock.json. If the release was " +
                "really made again, update the lock file; otherwise do not trust that registry")
    if "code EUSAGE" in errors:
        return "package.json and package-lock.json do not agree. If the former is right, remove the latter and " + _MAKE_LOCK
    return ("npm cannot get what package-lock.json names. Check the network and npm's settings " +
            "(`npm config list`). npm said: {}").format(errors)

def _check_lock(repository_ctx, lock):
    """npm installs what has no hash without a word."""
    for name, package in json.decode(repository_ctx.read(lock))["packages"].items():
        if name and not package.get("integrity", "").startswith("sha512-"):
            fail("kvswap: @{}: package-lock.json has no sha512 integrity of {}: {}".format(
                repository_ctx.name,
                name,
                _MAKE_LOCK,
            ))

def _write_build_file(repository_ctx, program, compatible_with):
    repository_ctx.file("BUILD.bazel", _BUILD.format(
        compatible_with = repr(compatible_with),
        program = program,
    ))

def _buildifier_repository_impl(repository_ctx):
    package = repository_ctx.path(repository_ctx.attr.package)
    lock = repository_ctx.path(repository_ctx.attr.lock)
    _check_lock(repository_ctx, lock)

    npm = repository_ctx.which("npm")
    if not npm:
        # Where it is installed later, this repository is made again.
        for folder in repository_ctx.os.environ.get("PATH", "").split(":"):
            if folder.startswith("/"):
                repository_ctx.watch(folder + "/npm")
        repository_ctx.file("no_npm.sh", _NO_NPM)
        _write_build_file(
            repository_ctx,
            program = "no_npm.sh",
            compatible_with = [str(Label("@platforms//:incompatible"))],
        )
        return

    processor = _PROCESSORS.get(repository_ctx.os.arch)
    if not processor:
        fail("kvswap: @{}: buildifier's npm package has no program for {}".format(
            repository_ctx.name,
            repository_ctx.os.arch,
        ))

    # npm writes to neither, but both must lie where it works.
    repository_ctx.symlink(package, "package.json")
    repository_ctx.symlink(lock, "package-lock.json")
    repository_ctx.report_progress("npm ci")
    result = repository_ctx.execute(
        [
            npm,
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
        ],
        timeout = repository_ctx.attr.timeout,
    )
    if result.return_code != 0:
        fail("kvswap: @{}: {}".format(
            repository_ctx.name,
            _explain(result.stdout + result.stderr),
        ))
    _write_build_file(
        repository_ctx,
        program = "node_modules/@bazel/buildifier/buildifier-linux_" + processor,
        compatible_with = [],
    )

buildifier_repository = repository_rule(
    doc = """\
`//:buildifier`, the program, and `//:needs_npm`, for `data` of tests that run it.

Without npm the repository is made all the same; such tests are then skipped.
""",
    implementation = _buildifier_repository_impl,
    attrs = {
        "lock": attr.label(
            doc = "npm's package-lock.json, with the hash of every package.",
            mandatory = True,
            allow_single_file = True,
        ),
        "package": attr.label(
            doc = "The package.json that it belongs to.",
            mandatory = True,
            allow_single_file = True,
        ),
        "timeout": attr.int(
            doc = "Seconds that the download may take.",
            default = 600,
        ),
    },
    environ = ["PATH"],
)
