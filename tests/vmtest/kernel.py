# SPDX-License-Identifier: Apache-2.0
"""A Debian kernel for guests: the uncompressed ELF image and its modules.

The kernel package is only unpacked into the cache, never installed. QEMU boots the ELF image
through its PVH entry, which saves the guest the work of unpacking itself.
"""

from __future__ import annotations

import lzma
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from . import apt, cache
from .errors import VMError
from .image import squashfs

# What a guest can use; the rest of a distribution's drivers is for hardware that it does not have.
MODULE_DIRS = (
    "arch", "block", "crypto", "fs", "lib", "mm", "net",
    "drivers/block", "drivers/char", "drivers/net/tun.ko", "drivers/net/veth.ko",
    "drivers/net/virtio_net.ko", "drivers/net/net_failover.ko", "drivers/net/dummy.ko",
    "drivers/virtio", "drivers/dma-buf", "drivers/iommu", "drivers/vfio",
)  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    version: str
    vmlinux: Path
    modules: Path
    """The squashfs layer with /usr/lib/modules."""
    tree: Path
    """The unpacked package; modules are below usr/lib/modules or lib/modules."""

    @property
    def module_dir(self) -> Path:
        return self.tree / "lib" / "modules" / self.version


def default_version() -> str:
    """The newest kernel that modules can be built for on this host."""
    found = [path.name for path in Path("/usr/src").glob("linux-headers-*-amd64")]
    versions = [name.removeprefix("linux-headers-") for name in found]
    plain = [version for version in versions if re.fullmatch(r"[\d.]+-\d+-amd64", version)]
    if not plain:
        raise VMError("no linux-headers package is installed", hint="run scripts/setup")
    return max(plain, key=lambda version: [int(number) for number in re.findall(r"\d+", version)])


def get(version: str) -> Kernel:
    path = cache.entry(
        "kernel", f"{version}-{cache.key(Path(__file__))}", lambda tmp: _make(version, tmp),
        f"fetching kernel {version}",
    )  # fmt: skip
    return Kernel(version, path / "vmlinux", path / "modules.sqfs", path / "tree")


def _make(version: str, directory: Path) -> None:
    debs = directory / "debs"
    debs.mkdir()
    options = ["-o", "APT::Sandbox::User=root"]
    done = subprocess.run(
        ["apt-get", "-q", *options, "download", f"linux-image-{version}"],
        cwd=debs, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise VMError(
            f"kernel {version} cannot be fetched: {done.stderr.strip()}",
            hint="run apt-get update; apt-cache search linux-image lists what there is",
        )
    whole = directory / "whole"
    apt.unpack(next(debs.glob("*.deb")), whole)
    (directory / "vmlinux").write_bytes(extract(whole / "boot" / f"vmlinuz-{version}"))

    source = whole / "lib" / "modules" / version
    target = directory / "tree" / "lib" / "modules" / version
    for name in MODULE_DIRS:
        wanted = source / "kernel" / name
        if wanted.is_dir():
            shutil.copytree(wanted, target / "kernel" / name)
        elif wanted.exists():
            (target / "kernel" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(wanted, target / "kernel" / name)
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy2(source / name, target / name)
    subprocess.run(
        ["depmod", "-b", directory / "tree", version], check=True, stderr=subprocess.DEVNULL
    )
    # The root image has /lib as a link to /usr/lib: the layer must not put a directory over it.
    layer = directory / "layer"
    shutil.copytree(directory / "tree" / "lib", layer / "usr" / "lib")
    squashfs(layer, directory / "modules.sqfs")
    for path in (debs, whole, layer):
        shutil.rmtree(path)


def extract(vmlinuz: Path) -> bytes:
    """The ELF image inside a bzImage, by the header of Documentation/x86/boot.rst."""
    data = vmlinuz.read_bytes()
    if data[0x202:0x206] != b"HdrS":
        raise VMError(f"{vmlinuz} is not a bzImage")
    setup_sectors = data[0x1F1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)  # payload_offset, payload_length
    start = (setup_sectors + 1) * 512 + offset
    payload = data[start : start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        image = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        # The last four bytes are the size, which is not part of the zstd frame.
        image = subprocess.run(
            ["zstd", "-dc"], input=payload[:-4], check=True, capture_output=True
        ).stdout
    elif payload.startswith(b"\x1f\x8b"):
        image = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(payload)
    else:
        raise VMError(f"{vmlinuz}: unknown compression {payload[:6].hex()}")
    if not image.startswith(b"\x7fELF"):
        raise VMError(f"{vmlinuz}: no ELF image inside")
    return image


def module_closure(kernel: Kernel, names: list[str]) -> list[Path]:
    """The files of `names` and of all they depend on, in the order to load them."""
    depends: dict[str, list[str]] = {}
    by_name: dict[str, str] = {}
    for line in (kernel.module_dir / "modules.dep").read_text().splitlines():
        file, _, rest = line.partition(":")
        depends[file] = rest.split()
        by_name[Path(file).name.removesuffix(".ko").replace("-", "_")] = file
    builtin = (kernel.module_dir / "modules.builtin").read_text()
    order: list[str] = []
    for name in names:
        file = by_name.get(name.replace("-", "_"))
        if file is None:
            if f"/{name}.ko" in builtin or f"/{name.replace('_', '-')}.ko" in builtin:
                continue
            raise VMError(f"kernel {kernel.version} has no module {name}")
        # modules.dep lists what a module needs, the deepest last.
        for wanted in [*reversed(depends[file]), file]:
            if wanted not in order:
                order.append(wanted)
    return [kernel.module_dir / file for file in order]
