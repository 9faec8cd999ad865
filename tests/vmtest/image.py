# SPDX-License-Identifier: Apache-2.0
"""Squashfs layers and the initramfs of a guest."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from . import apt, cache
from .errors import VMError

AGENT_SOURCE = Path(__file__).with_name("agent.c")
PYFORK_SOURCE = Path(__file__).with_name("pyfork.c")
FORK_SERVER_SOURCE = Path(__file__).with_name("forkserver.py")
FORK_SERVER = Path("/usr/local/lib/vmtest/forkserver.py")


def squashfs(directory: Path, target: Path) -> None:
    subprocess.run(
        ["mksquashfs", directory, target, "-comp", "zstd", "-Xcompression-level", "2",
         "-quiet", "-no-progress", "-all-root", "-noappend"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def debian_root(packages: Sequence[str], exclude: Sequence[str], target: Path) -> None:
    """A squashfs of a minimal Debian with `packages`; `exclude` are paths that are left out."""
    options = [f"--aptopt={option}" for option in apt.acquire_options()]
    options += [f"--dpkgopt=path-exclude={pattern}" for pattern in exclude]
    command = [
        "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=tar",
        '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"',
        "--dpkgopt=force-unsafe-io", "--include=" + ",".join(packages), *options,
        apt.SUITE, "-", "-",
    ]  # fmt: skip
    make = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert make.stdin
    assert make.stdout
    assert make.stderr
    make.stdin.write(apt.sources("main").encode())
    make.stdin.close()
    packer = subprocess.Popen(
        ["mksquashfs", "-", target, "-tar", "-comp", "zstd", "-Xcompression-level", "2",
         "-quiet", "-no-progress", "-noappend"],
        stdin=make.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    make.stdout.close()
    complaint = make.stderr.read().decode(errors="replace")
    if make.wait() or packer.wait():
        raise VMError(f"mmdebstrap failed:\n{complaint[-4000:]}")


def static_binary(source: Path) -> Path:
    """A program of one C file for the guest, whatever C library it has."""

    def make(directory: Path) -> None:
        command = ["gcc", "-O2", "-static", "-Wall", "-Wextra", "-Wno-unused-result"]
        subprocess.run([*command, "-o", directory / source.stem, source], check=True)

    return cache.entry("binary", cache.key(source), make) / source.stem


def add_fork_server(layer: Path) -> None:
    """Puts the Python interpreter by fork into a layer: pyfork, and FORK_SERVER to start it."""
    (layer / "usr/local/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy2(static_binary(PYFORK_SOURCE), layer / "usr/local/bin/pyfork")
    target = layer / FORK_SERVER.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(FORK_SERVER_SOURCE, target)


def initramfs(target: Path, modules: Sequence[Path]) -> None:
    """A newc archive (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    names = [f"/modules/{index}-{module.name}" for index, module in enumerate(modules)]
    with open(target, "wb") as out:
        inode = 0

        def add(name: str, mode: int, data: bytes = b"", rdev: tuple[int, int] = (0, 0)) -> None:
            nonlocal inode
            inode += 1
            fields = [inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(name) + 1, 0]
            header = b"070701" + b"".join(b"%08X" % field for field in fields)
            entry = header + name.encode() + b"\0"
            entry += b"\0" * (-len(entry) % 4) + data
            out.write(entry + b"\0" * (-len(entry) % 4))

        for name in ("dev", "proc", "sys", "modules"):
            add(name, 0o40755)
        add("dev/console", 0o20600, rdev=(5, 1))
        add("init", 0o100755, static_binary(AGENT_SOURCE).read_bytes())
        add("modules.list", 0o100644, "".join(name + "\n" for name in names).encode())
        for name, module in zip(names, modules, strict=True):
            add(name[1:], 0o100644, module.read_bytes())
        add("TRAILER!!!", 0)
