# SPDX-License-Identifier: Apache-2.0
"""Kernel modules for the guest, built in copies of kmod/ so that no output lands in the sources."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from vmtest import kernel
from vmtest.errors import VMError

from .image import TREE

SOURCE = TREE / "kmod"
SUFFIXES = {".c", ".h", ".S", ".conf", ".lds", ".inc"}
NAMES = {"Kbuild", "Makefile"}

# Where each module's Kbuild is, below kmod/; in the order to load them.
MODULES = {"nvsim": "nvsim", "vgpu": "."}


def present() -> list[str]:
    return [name for name, where in MODULES.items() if (SOURCE / where / "Kbuild").exists()]


def build(version: str, names: list[str] | None = None) -> dict[str, Path]:
    """Builds what is stale; returns the modules' files."""
    out = TREE / "build" / f"kmod-{version}"
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _sync(out / "src")
        wanted = present() if names is None else names
        return {name: _build_one(version, name, out) for name in wanted}


def _sources(directory: Path) -> list[Path]:
    found = [
        path.relative_to(directory)
        for path in directory.rglob("*")
        if path.suffix in SUFFIXES or path.name in NAMES
    ]
    # NAME.mod.c is kbuild's.
    return sorted(path for path in found if not path.name.endswith(".mod.c"))


def _sync(copy: Path) -> None:
    """Copies what differs, so that kbuild compiles only that; removes what is gone."""
    names = _sources(SOURCE)
    for name in names:
        target = copy / name
        data = (SOURCE / name).read_bytes()
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    for name in set(_sources(copy)) - set(names):
        (copy / name).unlink()


def _build_one(version: str, name: str, out: Path) -> Path:
    directory = (out / "src" / MODULES[name]).resolve()
    if not (directory / "Kbuild").exists():
        raise VMError(f"kmod/{MODULES[name]}/Kbuild does not exist")
    headers = Path("/usr/src") / f"linux-headers-{version}"
    if not headers.exists():
        raise VMError(
            f"the headers of kernel {version} are not installed",
            hint=f"apt-get install linux-headers-{version}",
        )
    target, stamp = out / f"{name}.ko", out / f"{name}.stamp"
    digest = hashlib.sha256(str(headers.resolve()).encode())
    for path in _sources(SOURCE):
        digest.update(str(path).encode() + b"\0" + (SOURCE / path).read_bytes())
    if target.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
        return target
    done = subprocess.run(
        ["make", "-C", headers, f"M={directory}", "-j2", "--no-print-directory", "modules"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode:
        raise VMError(f"{name}.ko does not build:\n{done.stdout}")
    for line in done.stdout.splitlines():
        if "warning:" in line and "the compiler differs" not in line:
            print(line, file=sys.stderr)
    shutil.copy2(directory / f"{name}.ko", target)
    stamp.write_text(digest.hexdigest())
    return target


def main() -> int:
    parser = argparse.ArgumentParser(prog="build-modules", description=__doc__)
    parser.add_argument("--kernel", metavar="VERSION", help="kernel to build for")
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], metavar="nvsim|vgpu")
    options = parser.parse_args()
    try:
        build(options.kernel or kernel.default_version(), options.modules or None)
    except VMError as error:
        print(f"Error: {error}", file=sys.stderr)
        if error.hint:
            print(f"Hint: {error.hint}", file=sys.stderr)
        return 1
    return 0
