# SPDX-License-Identifier: Apache-2.0
"""Where the nodes of tenants are mounted: a vgpufs each, below a directory for root alone."""

import errno
import os
import re
import stat

from vgpu import syscalls
from vgpu._native import ffi, lib
from vgpu.errors import UsageError, VgpuError

BASE = "/run/vgpu"

# The pattern of the uapi header's VGPU_NAME_LEN. The module checks it too: here it keeps a name
# from being a path.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) >= lib.VGPU_NAME_LEN:
        raise UsageError(
            f"{name!r} cannot be a name",
            "use a-z, 0-9, '.', '_' and '-', a letter or figure first, "
            f"{lib.VGPU_NAME_LEN - 1} characters at most",
        )


def base_directory() -> str:
    os.makedirs(BASE, mode=0o700, exist_ok=True)
    found = os.stat(BASE, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o077:
        raise VgpuError(f"{BASE} is open to others than root", f"chmod 0700 {BASE}; chown 0 {BASE}")
    return BASE


def directory(name: str) -> str:
    check_name(name)
    return f"{BASE}/{name}"


def mounted(name: str) -> bool:
    return os.path.ismount(directory(name))


def mount(name: str) -> str:
    """Mounts the nodes of a tenant where they are not yet; returns the directory."""
    base_directory()
    target = directory(name)
    if mounted(name):
        return target
    os.makedirs(target, mode=0o700, exist_ok=True)
    fstype = ffi.string(lib.VGPU_FS_NAME).decode()
    option = ffi.string(lib.VGPU_FS_OPT_TENANT).decode()
    flags = lib.MS_NOSUID | lib.MS_NOEXEC | lib.MS_NODEV
    try:
        syscalls.mount("none", target, fstype, flags, f"{option}={name}")
    except OSError as error:
        os.rmdir(target)
        raise _mount_error(name, error) from error
    return target


def _mount_error(name: str, error: OSError) -> VgpuError:
    if error.errno == errno.ENOENT:
        return VgpuError(f"{name}: no slice has this name", "see 'vgpu list'")
    if error.errno == errno.ENODEV:
        return VgpuError(
            f"{name}: the vgpu module is not loaded, so nothing is enforced",
            "load it with 'modprobe vgpu'",
        )
    if error.errno in (errno.EPERM, errno.EACCES):
        return VgpuError(
            f"{name}: this process may not mount its nodes",
            "run it as root on the host, outside of every slice",
        )
    return VgpuError(f"{name}: its nodes cannot be mounted: {os.strerror(error.errno or 0)}")


def unmount(name: str) -> None:
    target = directory(name)
    if mounted(name):
        syscalls.umount(target)
    if os.path.isdir(target):
        os.rmdir(target)


def names(name: str) -> list[str]:
    """The nodes of a tenant: nvidiactl, nvidia0 and so on."""
    return sorted(os.listdir(directory(name)))
