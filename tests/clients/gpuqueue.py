# SPDX-License-Identifier: Apache-2.0
"""A channel of a driver with 535 layouts, driven by hand: push buffer, USERD, doorbell, no library.

Methods and formats: class/clc56f.h, clc7b5.h, clc361.h of 535.288.01 and clc7c0qmd.h.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import struct
from collections.abc import Callable
from typing import Any

import nvrm
from nvrm import Client, Device, Node, call, quad, word

KIB = 1 << 10

# Where the queue's own memory lies, for the GPU and inside its object.
BASE = 0x2_0000_0000
SIZE = 256 * KIB
PUSHBUFFER = 0x1000
SEMAPHORES = 0x20000
QMD = 0x30000
ENTRIES = 64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def map_fd(
    fd: int, size: int, prot: int = mmap.PROT_READ | mmap.PROT_WRITE,
    flags: int = mmap.MAP_SHARED, offset: int = 0, at: int | None = None,
) -> int:  # fmt: skip
    """mmap() that gives the address, which Python's own does not."""
    if at is not None:
        flags |= 0x10  # MAP_FIXED
    got = _libc.mmap(at, size, prot, flags, fd, offset)
    if got == ctypes.c_void_p(-1).value:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(got)


def error_of(function: Callable[..., object], *arguments: Any, **keywords: Any) -> int:
    """The errno that a call fails with, 0 when it does not."""
    try:
        function(*arguments, **keywords)
    except OSError as error:
        return error.errno or 0
    return 0


def unmap(address: int, size: int) -> None:
    assert _libc.munmap(address, size) == 0


def peek(address: int, size: int = 4) -> int:
    return int.from_bytes(ctypes.string_at(address, size), "little")


def poke(address: int, value: int) -> None:
    ctypes.c_uint32.from_address(address).value = value


def rm_map(client: Client, device: int, memory: int, fd: int, length: int) -> int:
    """RM_MAP_MEMORY: leaves an mmap context in fd; the status."""
    p = bytearray(56)
    struct.pack_into("<III", p, 0, client.handle, device, memory)
    struct.pack_into("<Q", p, 24, length)
    struct.pack_into("<i", p, 48, fd)
    assert call(client.ctl.fd, 0x4E, p) == 0
    return word(p, 40)


def cpu_map(device: Device, memory: int, length: int, node: str) -> int:
    """Maps memory into the process through a file that is closed again at once."""
    file = Node(node)
    status = rm_map(device.client, device.handle, memory, file.fd, length)
    if status:
        raise nvrm.RMError("map", status)
    address = map_fd(file.fd, length)
    file.close()
    return address


class Space:
    """A GPU address space of RM and a window on all of it."""

    def __init__(self, device: Device) -> None:
        self.device = device
        client = device.client
        self.handle, _ = client.alloc(device.handle, 0, nvrm.VASPACE, bytearray(48))
        window = bytearray(struct.pack("<QQII", 0, 0, self.handle, 0))
        self.window, _ = client.alloc(device.handle, 0, 0x70, window)

    def map(self, memory: int, length: int, va: int | None = None, offset: int = 0) -> int:
        """RM_MAP_MEMORY_DMA, at va or where there is room; the address."""
        p = bytearray(56)
        struct.pack_into(
            "<IIII", p, 0, self.device.client.handle, self.device.handle, self.window, memory
        )
        struct.pack_into("<QQ", p, 16, offset, length)
        if va is not None:
            struct.pack_into("<IIQ", p, 32, 1 << 15, 0, va)
        assert call(self.device.client.ctl.fd, 0x57, p) == 0
        if word(p, 48):
            raise nvrm.RMError("map to GPU", word(p, 48))
        return quad(p, 40)

    def unmap(self, memory: int, va: int) -> int:
        p = bytearray(40)
        struct.pack_into(
            "<IIII", p, 0, self.device.client.handle, self.device.handle, self.window, memory
        )
        struct.pack_into("<Q", p, 24, va)
        assert call(self.device.client.ctl.fd, 0x58, p) == 0
        return word(p, 32)


class Doorbell:
    """The usermode page of a client."""

    SIZE = 0x10000

    def __init__(self, device: Device) -> None:
        handle, _ = device.client.alloc(device.sub, 0, nvrm.USERMODE, 0)
        self.address = cpu_map(device, handle, self.SIZE, "nvidia0")

    def ring(self, token: int) -> None:
        poke(self.address + 0x90, token)

    def faults(self) -> int:
        """Page faults that a store takes."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        self.ring(1)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


class Queue:
    """A group with one channel, a compute and a copy object, in a space of its own or another's."""

    def __init__(
        self, device: Device, space: Space | None = None, base: int = BASE,
        doorbell: Doorbell | None = None,
    ) -> None:  # fmt: skip
        client = device.client
        self.device = device
        self.space = space or Space(device)
        self.base = base
        self.qmd = base + QMD
        self.group, _ = client.alloc(
            device.handle, 0, nvrm.GROUP,
            bytearray(struct.pack("<IIIII", 0, 0, self.space.handle, 1, 0)),
        )  # fmt: skip
        own, _, _ = device.memory(SIZE, class_=nvrm.SYSMEM)
        self.space.map(own, SIZE, base)
        self.cpu = cpu_map(device, own, SIZE, "nvidiactl")
        userd, _, _ = device.memory(4096)
        self.userd = cpu_map(device, userd, 4096, "nvidia0")
        error, _, _ = device.memory(4096, class_=nvrm.SYSMEM)
        self.error = cpu_map(device, error, 4096, "nvidiactl")

        p = bytearray(360)
        struct.pack_into("<IIQI", p, 0, error, 0, base, ENTRIES)
        struct.pack_into("<I", p, 28, self.space.handle)
        struct.pack_into("<I", p, 32, userd)
        self.channel, _ = client.alloc(self.group, 0, nvrm.CHANNEL, p)
        self.compute, _ = client.alloc(self.channel, 0, nvrm.COMPUTE, bytearray(16))
        client.alloc(self.channel, 0, nvrm.COPY, bytearray(8))
        token = bytearray(4)
        assert client.control(self.channel, 0xC36F0108, token) == nvrm.OK
        self.token = word(token, 0)
        self.doorbell = doorbell or Doorbell(device)
        self.put = 0
        self.at = PUSHBUFFER
        self.schedule(True)

    def schedule(self, on: bool) -> None:
        assert self.device.client.control(self.group, 0xA06C0101, bytearray([on, 0])) == nvrm.OK

    def semaphore(self, index: int) -> int:
        """GPU address of one of the queue's semaphores."""
        return self.base + SEMAPHORES + 16 * index

    def value(self, index: int) -> int:
        return peek(self.cpu + SEMAPHORES + 16 * index)

    def time_ns(self, index: int) -> int:
        return peek(self.cpu + SEMAPHORES + 16 * index + 8, 8)

    def set(self, index: int, value: int) -> None:
        poke(self.cpu + SEMAPHORES + 16 * index, value)

    def push(self, *words: int) -> None:
        """One push buffer segment, and GPPut beyond it. Nobody is told."""
        if self.at + 4 * len(words) > SEMAPHORES:
            self.at = PUSHBUFFER
        ctypes.memmove(self.cpu + self.at, struct.pack(f"<{len(words)}I", *words), 4 * len(words))
        entry = (self.base + self.at) | len(words) << 42
        poke(self.cpu + 8 * self.put, entry & 0xFFFFFFFF)
        poke(self.cpu + 8 * self.put + 4, entry >> 32)
        self.at += 4 * len(words)
        self.put = (self.put + 1) % ENTRIES
        poke(self.userd + 0x8C, self.put)

    def submit(self, *words: int) -> None:
        self.push(*words)
        self.doorbell.ring(self.token)

    def get(self) -> int:
        return peek(self.userd + 0x88)

    def idle(self) -> bool:
        return self.get() == self.put

    def died(self) -> bool:
        """The error notifier says so."""
        return peek(self.error + 14, 2) == 0xFFFF


def method(subchannel: int, first: int, *data: int) -> list[int]:
    """Increasing methods."""
    return [1 << 29 | len(data) << 16 | subchannel << 13 | first >> 2, *data]


def _halves(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32


def release(address: int, value: int) -> list[int]:
    """Host semaphore release with the time."""
    return method(0, 0x5C, *_halves(address), *_halves(value), 1 | 1 << 25)


def acquire(address: int, value: int) -> list[int]:
    """Waits until the semaphore is value or beyond."""
    return method(0, 0x5C, *_halves(address), *_halves(value), 3)


def copy(to: int, start: int, size: int) -> list[int]:
    return [
        *method(4, 0x400, start >> 32, start & 0xFFFFFFFF, to >> 32, to & 0xFFFFFFFF),
        *method(4, 0x418, size, 1),
        *method(4, 0x300, 0x182),
    ]


def fill(to: int, value: int, words: int) -> list[int]:
    """Words of 4 bytes, by the copy engine's remapping."""
    return [
        *method(4, 0x408, to >> 32, to & 0xFFFFFFFF),
        *method(4, 0x418, words, 1),
        *method(4, 0x700, value),
        *method(4, 0x708, 4 | 3 << 16),
        *method(4, 0x300, 0x586),
    ]


def inline(to: int, data: bytes) -> list[int]:
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return [
        *method(1, 0x180, len(data), 1, to >> 32, to & 0xFFFFFFFF),
        *method(1, 0x1B0, 0x41),
        3 << 29 | len(words) << 16 | 1 << 13 | 0x1B4 >> 2,
        *words,
    ]


def launch(qmd_at: int, grid: int, address: int, value: int) -> list[int]:
    """A kernel of that many blocks that releases a semaphore at its end; its QMD goes inline."""
    qmd = [0] * 64
    qmd[12], qmd[13], qmd[14] = grid, 1, 1
    qmd[24], qmd[25], qmd[26] = address & 0xFFFFFFFF, address >> 32 | 1 << 23, value
    return [
        *method(1, 0x318, qmd_at >> 40, qmd_at >> 8 & 0xFFFFFFFF),
        *method(1, 0x320, *qmd),
    ]
