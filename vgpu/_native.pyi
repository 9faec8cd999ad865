# SPDX-License-Identifier: Apache-2.0
"""What the package uses of vgpu._native. Fields of structs are not typed: cffi checks them."""

from typing import Any, TypeAlias

CData: TypeAlias = Any

class _FFI:
    NULL: CData

    def cast(self, type_: str, value: CData | int) -> CData: ...
    def new(self, type_: str, init: object = ...) -> CData: ...
    def sizeof(self, what: str | CData) -> int: ...
    def string(self, what: CData, maximum: int = ...) -> bytes: ...

class _Lib:
    VGPU_CREATE_OVERCOMMIT: int
    VGPU_CTL_NAME: CData
    VGPU_FS_NAME: CData
    VGPU_FS_OPT_TENANT: CData
    VGPU_IOC_CALIBRATE: int
    VGPU_IOC_CREATE: int
    VGPU_IOC_INFO: int
    VGPU_IOC_JOIN: int
    VGPU_IOC_REMOVE: int
    VGPU_NAME_LEN: int
    VGPU_NL_CMD_TENANT_GET: int
    VGPU_NL_NAME: CData
    VGPU_NL_VERSION: int

    CLONE_NEWNS: int
    CLONE_NEWPID: int
    MS_BIND: int
    MS_NODEV: int
    MS_NOEXEC: int
    MS_NOSUID: int
    MS_PRIVATE: int
    MS_REC: int

    # Each returns 0 or -errno.
    def sys_die_with_parent(self) -> int: ...
    def sys_ioctl(self, fd: int, request: int, arg: CData) -> int: ...
    def sys_mount(
        self,
        source: bytes | CData,
        target: bytes | CData,
        type_: bytes | CData,
        flags: int,
        data: bytes | CData,
    ) -> int: ...
    def sys_read_only_tree(self, path: bytes) -> int: ...
    def sys_umount(self, target: bytes) -> int: ...
    def sys_unshare(self, flags: int) -> int: ...
    def vgpu_calibrate(self, pci: CData, out: CData) -> int: ...

ffi: _FFI
lib: _Lib
