# SPDX-License-Identifier: Apache-2.0
"""/dev/vgpuctl: one method a verb. What the module refuses comes out as VgpuError."""

import errno
import os
from collections.abc import Sequence
from typing import Any

from vgpu._native import ffi, lib
from vgpu.errors import VgpuError
from vgpu.model import DriverState, ModuleInfo, SliceSpec

PATH = "/dev/" + ffi.string(lib.VGPU_CTL_NAME).decode()

HINTS = {
    errno.EEXIST: "choose another name, or remove it with 'vgpu rm'",
    errno.ENOENT: "see 'vgpu list'",
    errno.ENOSPC: "ask for less, or see 'vgpu list'; --overcommit lifts this check",
    errno.EBUSY: "end these processes first",
    errno.EPERM: "run it as root on the host, outside of every slice",
    errno.ENOTTY: "the module is of another version: load the one that belongs to this program",
    errno.E2BIG: "the module is of another version: load the one that belongs to this program",
}


def text(field: Any) -> str:
    """A NUL-terminated string inside its field."""
    return bytes(ffi.string(field)).decode(errors="replace")


def put_text(struct: Any, field: str, value: str) -> None:
    """Refuses what does not fit: a name cut short could be another tenant's."""
    data = value.encode()
    room = ffi.sizeof(getattr(struct, field)) - 1
    if len(data) > room or b"\0" in data:
        raise VgpuError(f"{value!r} is longer than the {room} bytes of a {field}")
    setattr(struct, field, data)


class ControlDevice:
    """An open control device; use it in a with statement."""

    def __init__(self, path: str = PATH) -> None:
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise self._open_error(path, error) from error

    @staticmethod
    def _open_error(path: str, error: OSError) -> VgpuError:
        if error.errno in (errno.ENOENT, errno.ENXIO, errno.ENODEV):
            return VgpuError(
                f"{path} is not there: the vgpu module is not loaded, so nothing is enforced",
                "load it with 'modprobe vgpu'",
            )
        if error.errno in (errno.EPERM, errno.EACCES):
            return VgpuError(f"{path} may not be opened by this process", HINTS[errno.EPERM])
        return VgpuError(f"{path} cannot be opened: {os.strerror(error.errno or 0)}")

    def __enter__(self) -> "ControlDevice":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def _call(self, request: int, struct: Any, what: str) -> None:
        struct.size = ffi.sizeof(struct[0])
        error = -lib.sys_ioctl(self._fd, request, struct)
        if error:
            fact = text(struct.reason) or os.strerror(error).lower()
            raise VgpuError(f"{what}: {fact}", HINTS.get(error))

    def info(self) -> ModuleInfo:
        arg = ffi.new("struct vgpu_ioc_info *")
        self._call(lib.VGPU_IOC_INFO, arg, "vgpu module")
        return ModuleInfo(
            abi_version=arg.out_abi_version,
            driver_state=DriverState(arg.out_driver_state),
            driver=text(arg.out_driver),
            tenants=arg.out_tenants,
            reason=text(arg.reason),
        )

    def create(self, name: str, slices: Sequence[SliceSpec], *, overcommit: bool = False) -> int:
        """Makes a tenant whose n-th GPU is slices[n]; returns its number."""
        specs = ffi.new("struct vgpu_slice_spec[]", len(slices))
        for spec, wanted in zip(specs, slices, strict=True):
            put_text(spec, "uuid", wanted.gpu.id.uuid)
            put_text(spec, "pci", wanted.gpu.pci)
            spec.memory_max = wanted.memory_max
            spec.capacity = wanted.gpu.capacity
        arg = ffi.new("struct vgpu_ioc_create *")
        put_text(arg, "name", name)
        arg.flags = lib.VGPU_CREATE_OVERCOMMIT if overcommit else 0
        arg.nr_slices = len(slices)
        arg.slices = int(ffi.cast("uintptr_t", specs))
        self._call(lib.VGPU_IOC_CREATE, arg, name)
        return int(arg.out_id)

    def remove(self, name: str) -> None:
        arg = ffi.new("struct vgpu_ioc_remove *")
        put_text(arg, "name", name)
        self._call(lib.VGPU_IOC_REMOVE, arg, name)

    def join(self, name: str, cgroup_fd: int) -> None:
        """Bars the processes of this cgroup, and of those below it, from the control device."""
        arg = ffi.new("struct vgpu_ioc_join *")
        put_text(arg, "name", name)
        arg.cgroup_fd = cgroup_fd
        self._call(lib.VGPU_IOC_JOIN, arg, name)

    def calibrate(self, uuid: str, driver: str, channel_bytes: int, context_bytes: int) -> None:
        arg = ffi.new("struct vgpu_ioc_calibrate *")
        put_text(arg, "uuid", uuid)
        put_text(arg, "driver", driver)
        arg.channel_bytes = channel_bytes
        arg.context_bytes = context_bytes
        self._call(lib.VGPU_IOC_CALIBRATE, arg, uuid)
