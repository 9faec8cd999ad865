#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An unmodified CUDA program: libcuda.so.1 through ctypes.

As a module it gives tests a context, memory, copies, launches and events. As a command it does one
thing and prints what it saw, one JSON object a line. It exits 1 when CUDA refused what the command
was to show.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SUCCESS = 0
OUT_OF_MEMORY = 2

MIB = 1 << 20

MEM_ATTACH_GLOBAL = 1

# Does nothing; a simulated GPU takes its time over it all the same.
PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
"""


class CudaError(Exception):
    """A call that did not return CUDA_SUCCESS."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__(f"{call}: {name} ({code})")
        self.call = call
        self.code = code
        self.name = name


class Cuda:
    """libcuda.so.1, initialized, with the context of one device current."""

    def __init__(self, device: int = 0, library: str = "libcuda.so.1") -> None:
        self._lib = ctypes.CDLL(library)
        self._context = ctypes.c_void_p()
        self._function: ctypes.c_void_p | None = None
        self.ordinal = device
        self.call("cuInit", ctypes.c_uint(0))
        handle = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(handle), ctypes.c_int(device))
        self._device = handle

    def call(self, name: str, *args: Any) -> None:
        code = getattr(self._lib, name)(*args)
        if code != SUCCESS:
            text = ctypes.c_char_p()
            self._lib.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
            raise CudaError(name, code, (text.value or b"unknown").decode())

    def device_count(self) -> int:
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, ctypes.c_int(len(text)), self._device)
        return text.value.decode()

    def uuid(self) -> str:
        raw = ctypes.create_string_buffer(16)
        self.call("cuDeviceGetUuid", raw, self._device)
        return f"GPU-{uuid.UUID(bytes=raw.raw)}"

    def total_mem(self) -> int:
        size = ctypes.c_size_t()
        self.call("cuDeviceTotalMem_v2", ctypes.byref(size), self._device)
        return size.value

    @contextmanager
    def context(self) -> Iterator[Cuda]:
        """A context for the body; what it left allocated goes with it."""
        self.call("cuCtxCreate_v2", ctypes.byref(self._context), ctypes.c_uint(0), self._device)
        try:
            yield self
        finally:
            self._function = None
            self.call("cuCtxDestroy_v2", self._context)

    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def alloc(self, size: int) -> int:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value

    def free(self, pointer: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_uint64(pointer))

    def alloc_managed(self, size: int) -> int:
        pointer = ctypes.c_uint64()
        self.call(
            "cuMemAllocManaged",
            ctypes.byref(pointer),
            ctypes.c_size_t(size),
            ctypes.c_uint(MEM_ATTACH_GLOBAL),
        )
        return pointer.value

    def to_device(self, pointer: int, data: bytes | bytearray) -> None:
        buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), buffer, ctypes.c_size_t(len(data)))

    def to_host(self, pointer: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", buffer, ctypes.c_uint64(pointer), ctypes.c_size_t(size))
        return buffer.raw

    def function(self) -> ctypes.c_void_p:
        """A kernel in the current context, compiled on first use."""
        if self._function is None:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(PTX))
            self.call(
                "cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(b"nothing")
            )
            self._function = function
        return self._function

    def launch(self, grid: int, stream: int = 0) -> None:
        """Queues a kernel of that many blocks."""
        one = ctypes.c_uint(1)
        self.call(
            "cuLaunchKernel",
            self.function(),
            *(ctypes.c_uint(grid), one, one),
            *(one, one, one),
            ctypes.c_uint(0),
            ctypes.c_void_p(stream),
            None,
            None,
        )

    def synchronize(self) -> None:
        self.call("cuCtxSynchronize")

    def event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        return event

    def record(self, event: ctypes.c_void_p, stream: int = 0) -> None:
        self.call("cuEventRecord", event, ctypes.c_void_p(stream))

    def wait(self, event: ctypes.c_void_p) -> None:
        self.call("cuEventSynchronize", event)

    def elapsed_ms(self, start: ctypes.c_void_p, end: ctypes.c_void_p) -> float:
        ms = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(ms), start, end)
        return ms.value


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def pattern(size: int) -> bytes:
    """Bytes that differ from page to page, so that a copy which mixes pages up is seen."""
    page = b"".join(i.to_bytes(4, "little") for i in range(1024))
    pages = (size + len(page) - 1) // len(page)
    return b"".join(i.to_bytes(8, "little") + page[8:] for i in range(pages))[:size]


def cmd_info(cuda: Cuda, args: argparse.Namespace) -> None:
    what: dict[str, Any] = {
        "devices": cuda.device_count(),
        "name": cuda.name(),
        "uuid": cuda.uuid(),
        "total_mem": cuda.total_mem(),
    }
    with cuda.context():
        what["free"], what["total"] = cuda.mem_info()
    say(**what)


def cmd_alloc_until_refused(cuda: Cuda, args: argparse.Namespace) -> None:
    """Allocates until CUDA says no, frees a piece and takes it again: the program goes on."""
    with cuda.context():
        free, total = cuda.mem_info()
        pointers: list[int] = []
        refusal = None
        while refusal is None:
            try:
                pointers.append(cuda.alloc(args.size))
            except CudaError as error:
                refusal = error
        allocated = len(pointers) * args.size
        say(free=free, total=total, allocated=allocated, refused=refusal.name, code=refusal.code)
        if refusal.code != OUT_OF_MEMORY:
            raise refusal
        if pointers:
            cuda.free(pointers.pop())
            pointers.append(cuda.alloc(args.size))
        for pointer in pointers:
            cuda.free(pointer)
        say(went_on=True, free=cuda.mem_info()[0])


def cmd_copy(cuda: Cuda, args: argparse.Namespace) -> None:
    """To the device and back, compared."""
    data = pattern(args.size)
    with cuda.context():
        pointer = cuda.alloc(args.size)
        begin = time.monotonic()
        cuda.to_device(pointer, data)
        middle = time.monotonic()
        back = cuda.to_host(pointer, args.size)
        end = time.monotonic()
    say(
        size=args.size,
        same=back == data,
        to_device_s=round(middle - begin, 6),
        to_host_s=round(end - middle, 6),
    )
    if back != data:
        sys.exit("Error: the copy came back different")


def cmd_launch(cuda: Cuda, args: argparse.Namespace) -> None:
    """Each launch between two events, waited for."""
    with cuda.context():
        start, end = cuda.event(), cuda.event()
        cuda.launch(1)
        cuda.synchronize()
        for _ in range(args.count):
            begin = time.monotonic()
            cuda.record(start)
            cuda.launch(args.grid)
            cuda.record(end)
            cuda.wait(end)
            wall = time.monotonic() - begin
            say(
                grid=args.grid,
                wall_ms=round(wall * 1e3, 3),
                events_ms=round(cuda.elapsed_ms(start, end), 3),
            )


def cmd_hold(cuda: Cuda, args: argparse.Namespace) -> None:
    """Holds memory until standard input ends."""
    with cuda.context():
        cuda.alloc(args.size)
        free, total = cuda.mem_info()
        say(pid=os.getpid(), held=args.size, free=free, total=total)
        sys.stdin.buffer.read()


def cmd_managed(cuda: Cuda, args: argparse.Namespace) -> None:
    """The CPU writes and reads managed memory, before and after a kernel that may touch it."""
    data = pattern(args.size)
    with cuda.context():
        pointer = cuda.alloc_managed(args.size)
        ctypes.memmove(pointer, data, args.size)
        cuda.launch(args.grid)
        cuda.synchronize()
        same = ctypes.string_at(pointer, args.size) == data
        cuda.free(pointer)
    say(size=args.size, same=same)
    if not same:
        sys.exit("Error: managed memory has changed")


def cmd_loop(cuda: Cuda, args: argparse.Namespace) -> None:
    """Allocates, copies a little, launches and frees, for ever or count times."""
    data = pattern(4096)
    with cuda.context():
        say(pid=os.getpid())
        done = 0
        while not args.count or done < args.count:
            pointer = cuda.alloc(args.size)
            cuda.to_device(pointer, data)
            cuda.launch(args.grid)
            if cuda.to_host(pointer, len(data)) != data:
                sys.exit(f"Error: the copy came back different after {done} rounds")
            cuda.free(pointer)
            done += 1
        say(rounds=done)


def size_of(text: str) -> int:
    units = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    number = text.rstrip("BGKMi")
    try:
        return int(number) * units[text[len(number) :]]
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r}: want a size such as 64MiB") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", type=int, default=0)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, size: int = 0, count: int | None = None) -> None:
        sub = commands.add_parser(name, help=(run.__doc__ or "").split("\n")[0])
        sub.set_defaults(run=run)
        if size:
            sub.add_argument("--size", type=size_of, default=size)
        if count is not None:
            sub.add_argument("--count", type=int, default=count)
            sub.add_argument("--grid", type=int, default=1000)

    command("info", cmd_info)
    command("alloc-until-refused", cmd_alloc_until_refused, size=256 * MIB)
    command("copy", cmd_copy, size=64 * MIB)
    command("launch", cmd_launch, count=5)
    command("hold", cmd_hold, size=64 * MIB)
    command("managed", cmd_managed, size=16 * MIB, count=1)
    command("loop", cmd_loop, size=2 * MIB, count=0)
    args = parser.parse_args()
    try:
        args.run(Cuda(args.device), args)
    except CudaError as error:
        say(call=error.call, code=error.code, name=error.name)
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
