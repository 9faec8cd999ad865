# SPDX-License-Identifier: Apache-2.0
"""The layers of the guest's root file system.

NVIDIA's user space comes from Debian's contrib and non-free and goes into a layer of the guest,
never onto the host. One layer for each driver version, over one root.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from vmtest import apt, cache, image, kernel
from vmtest.errors import VMError

TREE = Path(__file__).resolve().parents[2]

PACKAGES = [
    "bpftool", "busybox-static", "gdb", "iproute2", "kmod", "libcap2-bin", "procps", "psmisc",
    "python3", "python3-cffi-backend", "runc", "strace", "util-linux",
]  # fmt: skip

# Locale data stays: dpkg cannot bring back C.UTF-8 later.
EXCLUDE = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"]

# For /usr/bin/python3 of the guest. cffi's run time is Debian's python3-cffi-backend: the module
# vgpu._native needs nothing else.
PYTHON_PACKAGES = ["click", "pyroute2", "nvidia-ml-py"]

NVIDIA_PACKAGES = ["nvidia-smi", "libnvidia-ml1", "libcuda1", "libnvidia-ptxjitcompiler1"]
NVIDIA_DIR = "usr/lib/x86_64-linux-gnu/nvidia/current"
LIBRARY_DIR = "usr/lib/x86_64-linux-gnu"

DEFAULT_DRIVER = "535"


def root() -> Path:
    path = cache.entry(
        "root", cache.key(PACKAGES, EXCLUDE, apt.SUITE),
        lambda tmp: image.debian_root(PACKAGES, EXCLUDE, tmp / "root.sqfs"),
        "building the root file system (about a minute)",
    )  # fmt: skip
    return path / "root.sqfs"


def python() -> Path:
    name = cache.key(PYTHON_PACKAGES, image.PYFORK_SOURCE, image.FORK_SERVER_SOURCE)
    return cache.entry("python", name, _make_python) / "python.sqfs"


def _make_python(directory: Path) -> None:
    pip = TREE / ".venv" / "bin" / "pip"
    if not pip.exists():
        raise VMError("no .venv in the working tree", hint="run scripts/setup")
    layer = directory / "layer"
    target = layer / "usr" / "lib" / "python3" / "dist-packages"
    done = subprocess.run(
        [pip, "install", "-q", "--target", target, "--no-warn-script-location", *PYTHON_PACKAGES],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise VMError(f"pip failed: {done.stderr.strip()}")
    image.add_fork_server(layer)
    image.squashfs(layer, directory / "python.sqfs")
    shutil.rmtree(layer)


@dataclass(frozen=True)
class UserSpace:
    """NVIDIA's libraries of one driver version."""

    layer: Path
    version: str


def nvidia(driver: str) -> UserSpace:
    """`driver` is a version or its beginning, as 535; the newest in Debian that fits is taken."""
    name = cache.key(driver, NVIDIA_PACKAGES, "v2")
    path = cache.entry(
        "nvidia", name, lambda tmp: _make_nvidia(driver, tmp),
        f"fetching NVIDIA's user space {driver} for the guest",
    )  # fmt: skip
    return UserSpace(path / "nvidia.sqfs", (path / "version").read_text())


def _make_nvidia(driver: str, directory: Path) -> None:
    private = apt.PrivateApt("main contrib non-free non-free-firmware")
    private.update()
    version = next(
        (found for found in private.versions("libcuda1")
         if f"{found.split('-')[0]}.".startswith(f"{driver}.")), None,
    )  # fmt: skip
    if version is None:
        have = ", ".join(private.versions("libcuda1")) or "none"
        raise VMError(
            f"Debian has no NVIDIA user space {driver}", hint=f"versions that it has: {have}"
        )
    debs = directory / "debs"
    debs.mkdir()
    layer = directory / "layer"
    for package in private.download([f"{name}={version}" for name in NVIDIA_PACKAGES], debs):
        apt.unpack(package, layer)
    shutil.rmtree(layer / "usr" / "share", ignore_errors=True)

    # Debian's alternatives make these links when the packages are installed.
    current = layer / NVIDIA_DIR
    for library in sorted(current.glob("lib*.so*")):
        link = layer / LIBRARY_DIR / library.name
        if not link.exists():
            link.symlink_to(f"/{NVIDIA_DIR}/{library.name}")
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1"):
        link = layer / LIBRARY_DIR / name.removesuffix(".1")
        if not link.is_symlink():
            link.symlink_to(name)
    (layer / "usr" / "bin").mkdir(parents=True, exist_ok=True)
    smi = layer / "usr" / "bin" / "nvidia-smi"
    if not smi.is_symlink():
        smi.symlink_to("/usr/lib/nvidia/current/nvidia-smi")
    (directory / "version").write_text(version.split("-")[0])
    image.squashfs(layer, directory / "nvidia.sqfs")
    for path in (debs, layer):
        shutil.rmtree(path)


def layers(guest_kernel: kernel.Kernel, user_space: UserSpace) -> tuple[Path, ...]:
    return (root(), python(), user_space.layer, guest_kernel.modules)
