# SPDX-License-Identifier: Apache-2.0
"""Raw calls of a driver with 535 layouts, for programs that run in the guest.

Numbers and offsets are those of 535.288.01: nv_escape.h, nv-ioctl-numbers.h, nvos.h, cl*.h.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

OK = 0
NO_MEMORY = 0x51
NOT_SUPPORTED = 0x56
INVALID_ARGUMENT = 0x1F
INSUFFICIENT_PERMISSIONS = 0x1B
INVALID_CLASS = 0x22
INVALID_CLIENT = 0x23
INVALID_OBJECT_PARENT = 0x36
INVALID_PARAM_STRUCT = 0x3A
INSERT_DUPLICATE_NAME = 0x19
OBJECT_NOT_FOUND = 0x57
STATE_IN_USE = 0x63

ROOT, DEVICE, SUBDEVICE = 0x41, 0x80, 0x2080
VIDMEM, SYSMEM, OS_DESCRIPTOR, VIRTUAL = 0x40, 0x3E, 0x71, 0x50A0
VASPACE, GROUP, CTXSHARE, CHANNEL = 0x90F1, 0xA06C, 0x9067, 0xC56F
COMPUTE, COPY, USERMODE, EVENT = 0xC7C0, 0xC7B5, 0xC461, 0x79

FLAG_HANDLE = 0x4000
FLAG_VIRTUAL = 0x80000
ATTR_PCI = 1 << 25

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


def call(fd: int, nr: int, argument: bytearray, size: int | None = None) -> int:
    """An ioctl by number and size; 0 or the errno."""
    command = 3 << 30 | (len(argument) if size is None else size) << 16 | ord("F") << 8 | nr
    buffer = (ctypes.c_char * len(argument)).from_buffer(argument)
    if _libc.ioctl(fd, command, ctypes.addressof(buffer)) == 0:
        return 0
    return ctypes.get_errno()


def address(buffer: bytearray) -> int:
    return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))


def word(argument: bytes | bytearray, at: int) -> int:
    (value,) = struct.unpack_from("<I", argument, at)
    return int(value)


def quad(argument: bytes | bytearray, at: int) -> int:
    (value,) = struct.unpack_from("<Q", argument, at)
    return int(value)


class RMError(Exception):
    def __init__(self, what: str, status: int) -> None:
        super().__init__(f"{what}: status {status:#x}")
        self.status = status


class Node:
    """An open device node."""

    def __init__(self, name: str) -> None:
        self.fd = os.open(f"/dev/{name}", os.O_RDWR | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self.fd)

    def register(self, ctl: Node) -> int:
        return call(self.fd, 201, bytearray(struct.pack("<i", ctl.fd)))


class Client:
    """An RM client on an nvidiactl of its own."""

    def __init__(self, ctl: Node | None = None) -> None:
        self.ctl = ctl or Node("nvidiactl")
        self.handle = 0
        self.handle = self.alloc(0, 0, 0, 0, check=True)[0]

    def close(self) -> None:
        self.ctl.close()

    def alloc(
        self, parent: int, handle: int, class_: int, params: bytearray | bytes | int,
        *, check: bool = True, fd: int | None = None,
    ) -> tuple[int, int]:  # fmt: skip
        """RM_ALLOC; the handle and the status."""
        pointer = address(params) if isinstance(params, bytearray) else 0
        p = bytearray(struct.pack("<IIIIQII", self.handle, parent, handle, class_, pointer, 0, 0))
        error = call(self.ctl.fd if fd is None else fd, 0x2B, p)
        if error:
            raise OSError(error, os.strerror(error))
        status = word(p, 28)
        if check and status:
            raise RMError(f"alloc of class {class_:#x}", status)
        return word(p, 8), status

    def free(self, handle: int, parent: int = 0) -> int:
        p = bytearray(struct.pack("<IIII", self.handle, parent, handle, 0xFFFF))
        error = call(self.ctl.fd, 0x29, p)
        if error:
            raise OSError(error, os.strerror(error))
        return word(p, 12)

    def control(self, handle: int, command: int, params: bytearray) -> int:
        p = bytearray(
            struct.pack(
                "<IIIIQII", self.handle, handle, command, 0,
                address(params) if params else 0, len(params), 0xFFFF,
            )
        )  # fmt: skip
        error = call(self.ctl.fd, 0x2A, p)
        if error:
            raise OSError(error, os.strerror(error))
        return word(p, 28)

    def device(self, index: int = 0) -> Device:
        return Device(self, index)


class Device:
    """Device and subdevice of one GPU; holds an open file of it."""

    def __init__(self, client: Client, index: int = 0, node: Node | None = None) -> None:
        self.client = client
        self.node = node or Node(f"nvidia{index}")
        self.node.register(client.ctl)
        params = bytearray(struct.pack("<I", index).ljust(56, b"\0"))
        self.handle, _ = client.alloc(client.handle, 0, DEVICE, params)
        self.sub, _ = client.alloc(self.handle, 0, SUBDEVICE, bytearray(4))

    def memory(
        self, size: int, *, class_: int = VIDMEM, handle: int = 0, attr: int = 0, flags: int = 0,
        check: bool = True,
    ) -> tuple[int, int, int]:  # fmt: skip
        """RM_ALLOC of a memory class; handle, status and the size that came back."""
        p = bytearray(120)
        if class_ == SYSMEM and not attr:
            attr = ATTR_PCI
        struct.pack_into("<III", p, 0, self.client.handle, 0, flags)
        struct.pack_into("<I", p, 24, attr)
        struct.pack_into("<Q", p, 64, size)
        got, status = self.client.alloc(self.handle, handle, class_, p, check=check)
        return got, status, quad(p, 64)

    def heap(
        self, size: int, *, handle: int = 0, attr: int = 0, flags: int = 0, vaspace: int = 0,
        check: bool = True,
    ) -> tuple[int, int, int]:  # fmt: skip
        """VID_HEAP_CONTROL, ALLOC_SIZE; handle, status and the size that came back."""
        p = bytearray(184)
        if handle:
            flags |= FLAG_HANDLE
        struct.pack_into("<IIII", p, 0, self.client.handle, self.handle, 2, vaspace)
        struct.pack_into("<IIIII", p, 40, self.client.handle, handle, 0, flags, attr)
        struct.pack_into("<Q", p, 88, size)
        error = call(self.client.ctl.fd, 0x4A, p)
        if error:
            raise OSError(error, os.strerror(error))
        status = word(p, 20)
        if check and status:
            raise RMError("heap alloc", status)
        return word(p, 44), status, quad(p, 88)

    def fb_info(self, *indices: int) -> list[int]:
        """FB_GET_INFO_V2, in KiB."""
        p = bytearray(436)
        struct.pack_into("<I", p, 0, len(indices))
        for i, index in enumerate(indices):
            struct.pack_into("<I", p, 4 + 8 * i, index)
        status = self.client.control(self.sub, 0x20801303, p)
        if status:
            raise RMError("FB_GET_INFO_V2", status)
        return [word(p, 8 + 8 * i) for i in range(len(indices))]

    def free_bytes(self) -> int:
        return self.fb_info(0x16)[0] << 10

    def pids(self, class_: int = COMPUTE) -> list[int]:
        p = bytearray(3812)
        struct.pack_into("<II", p, 0, 0, class_)
        status = self.client.control(self.sub, 0x2080018D, p)
        if status:
            raise RMError("GPU_GET_PIDS", status)
        return [word(p, 12 + 4 * i) for i in range(word(p, 8))]


def used(gpu: int = 0) -> int:
    """Bytes that nvsim's books say are in use."""
    return int(Path(f"/sys/kernel/debug/nvsim/gpu{gpu}/used").read_text())


def books() -> list[str]:
    return Path("/sys/kernel/debug/nvsim/books").read_text().splitlines()
