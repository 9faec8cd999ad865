# SPDX-License-Identifier: Apache-2.0
"""What nvsim's engine does for a channel driven by hand. Each check_ function is a test."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

import checks
import nvrm
from checks import wait_until
from gpuqueue import (
    SIZE,
    Doorbell,
    Queue,
    Space,
    acquire,
    copy,
    cpu_map,
    error_of,
    fill,
    inline,
    launch,
    map_fd,
    method,
    peek,
    poke,
    release,
    rm_map,
    unmap,
)
from nvrm import Client, Device, Node, word

MIB = 1 << 20
FAR = 0x3_0000_0000


def _device() -> Device:
    return Client().device()


def _memory(queue: Queue, va: int, size: int = MIB) -> tuple[int, int]:
    """Device memory at va: the handle and where the CPU sees it."""
    handle, _, _ = queue.device.memory(size)
    queue.space.map(handle, size, va)
    return handle, cpu_map(queue.device, handle, size, "nvidia0")


def _block_ns() -> int:
    return int(Path("/sys/module/nvsim/parameters/block_ns").read_text())


def _refused(expected: int, *arguments: Any, **keywords: Any) -> bool:
    """mmap() fails with that error."""
    return error_of(map_fd, *arguments, **keywords) == expected


def _vm_flags(address: int) -> set[str]:
    """VmFlags of the mapping at an address, and the name it has."""
    with open("/proc/self/smaps") as smaps:
        for line in smaps:
            if re.match(rf"{address:08x}-", line):
                name = line.split()[-1]
            if line.startswith("VmFlags:") and "name" in locals():
                return {name, *line.split()[1:]}
    raise AssertionError("no such mapping")


def check_copy_and_release() -> None:
    queue = Queue(_device())
    _, first = _memory(queue, FAR)
    _, second = _memory(queue, FAR + MIB)
    data = os.urandom(MIB)
    ctypes.memmove(first, data, MIB)
    before = time.time_ns()
    queue.submit(*copy(FAR + MIB + 3, FAR + 5, MIB - 4096), *release(queue.semaphore(0), 7))
    wait_until(lambda: queue.value(0) == 7)
    assert ctypes.string_at(second + 3, MIB - 4096) == data[5 : 5 + MIB - 4096]
    assert ctypes.string_at(second, 3) == bytes(3)
    assert before <= queue.time_ns(0) <= time.time_ns()
    wait_until(queue.idle)


def check_fill_and_inline() -> None:
    queue = Queue(_device())
    _, cpu = _memory(queue, FAR)
    ctypes.memset(cpu, 0xFF, MIB)
    queue.submit(
        *fill(FAR + 4096, 0x12345678, 5000),
        *fill(FAR + 65536, 0, 5000),
        *inline(FAR + 8, b"inline data!"),
        *release(queue.semaphore(0), 1),
    )
    wait_until(lambda: queue.value(0) == 1)
    assert ctypes.string_at(cpu, 24) == b"\xff" * 8 + b"inline data!" + b"\xff" * 4
    assert ctypes.string_at(cpu + 4096, 20004) == b"\x78\x56\x34\x12" * 5000 + b"\xff" * 4
    assert ctypes.string_at(cpu + 65536, 20004) == bytes(20000) + b"\xff" * 4


def check_read_only_pages_are_not_written() -> None:
    """Host pages that were registered for reading can be read by the engine and nothing else."""
    queue = Queue(_device())
    device = queue.device
    path = Path("/tmp/read-only")
    path.write_bytes(b"r" * MIB)
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    with path.open("rb") as file:
        where = libc.mmap(None, ctypes.c_size_t(MIB), 1, 1, file.fileno(), ctypes.c_long(0))

    def register(flags: int) -> tuple[int, int]:
        p = bytearray(56)
        struct.pack_into("<IIIII", p, 0, device.client.handle, device.handle, 0, 0x71, flags)
        struct.pack_into("<QQ", p, 24, where, MIB - 1)
        struct.pack_into("<i", p, 48, -1)
        assert nvrm.call(device.node.fd, 0x27, p) == 0
        return word(p, 8), word(p, 40)

    assert register(1 << 30)[1] == 0x1E  # not writable
    handle, status = register(1 << 30 | 1 << 22)
    assert status == nvrm.OK
    queue.space.map(handle, MIB, FAR)
    _, cpu = _memory(queue, FAR + MIB)
    queue.submit(*copy(FAR + MIB, FAR, 4096), *release(queue.semaphore(0), 1))
    wait_until(lambda: queue.value(0) == 1)
    assert ctypes.string_at(cpu, 4096) == b"r" * 4096
    queue.submit(*fill(FAR, 0, 1024), *release(queue.semaphore(0), 2))
    time.sleep(0.2)
    assert queue.value(0) == 1
    assert path.read_bytes() == b"r" * MIB


def check_methods_go_on_in_the_next_segment() -> None:
    queue = Queue(_device())
    words = release(queue.semaphore(0), 9)
    queue.push(*words[:2])
    queue.push(*words[2:])
    queue.doorbell.ring(queue.token)
    wait_until(lambda: queue.value(0) == 9)


def check_work_is_seen_only_after_a_doorbell() -> None:
    queue = Queue(_device())
    queue.submit(*release(queue.semaphore(0), 1))
    wait_until(lambda: queue.value(0) == 1)
    # While the page is watched, and after.
    for value, pause in ((2, 0.002), (3, 0.1)):
        queue.push(*release(queue.semaphore(0), value))
        time.sleep(pause)
        assert queue.value(0) == 1
    queue.doorbell.ring(queue.token)
    wait_until(lambda: queue.value(0) == 3)


def check_any_store_rings_for_all_of_the_client() -> None:
    device = _device()
    first = Queue(device)
    second = Queue(device, first.space, first.base + SIZE, first.doorbell)
    stranger = Queue(_device())
    for queue in (first, second, stranger):
        queue.push(*release(queue.semaphore(0), 1))
    # What no channel has, and what another store overwrites at once.
    first.doorbell.ring(12345)
    first.doorbell.ring(first.token)
    wait_until(lambda: first.value(0) == 1 and second.value(0) == 1)
    time.sleep(0.05)
    assert stranger.value(0) == 0, "another client's doorbell was heard"
    stranger.doorbell.ring(0)
    wait_until(lambda: stranger.value(0) == 1)


def check_no_work_is_lost() -> None:
    """Stores that race with the page being taken away."""
    queue = Queue(_device())
    for i in range(1, 400):
        queue.submit(*release(queue.semaphore(0), i))
        wait_until(lambda i=i: queue.value(0) == i)  # type: ignore[misc]
        time.sleep((i % 80) * 0.0001)


def check_an_idle_doorbell_is_taken_away() -> None:
    doorbell = Doorbell(_device())
    doorbell.faults()
    at_once = [doorbell.faults() for _ in range(50)]
    assert min(at_once) == 0
    later = []
    for _ in range(10):
        time.sleep(0.05)
        later.append(doorbell.faults())
    assert min(later) >= 1, later


def check_doorbells_of_forked_processes() -> None:
    queue = Queue(_device())
    queue.submit(*release(queue.semaphore(0), 1))
    wait_until(lambda: queue.value(0) == 1)
    queue.push(*release(queue.semaphore(0), 2))
    pid = os.fork()
    if not pid:
        queue.doorbell.ring(queue.token)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    wait_until(lambda: queue.value(0) == 2)


def check_mappings_are_as_a_driver_makes_them() -> None:
    device = _device()
    doorbell = Doorbell(device)
    video, _, _ = device.memory(MIB)
    system, _, _ = device.memory(MIB, class_=nvrm.SYSMEM)
    for address in (doorbell.address, cpu_map(device, video, MIB, "nvidia0")):
        assert _vm_flags(address) >= {"/dev/nvidia0", "pf", "io", "de", "sh"}
    flags = _vm_flags(cpu_map(device, system, MIB, "nvidiactl"))
    assert flags >= {"/dev/nvidiactl", "de", "dd", "sh"} and not flags & {"pf", "io"}


def check_mmap_wants_its_context() -> None:
    device = _device()
    video, _, _ = device.memory(MIB)
    system, _, _ = device.memory(MIB, class_=nvrm.SYSMEM)
    gpu, ctl = Node("nvidia0"), Node("nvidiactl")
    assert _refused(errno.EINVAL, gpu.fd, MIB)
    assert _refused(errno.EINVAL, ctl.fd, MIB)
    assert rm_map(device.client, device.handle, video, gpu.fd, MIB) == nvrm.OK
    assert rm_map(device.client, device.handle, system, ctl.fd, MIB) == nvrm.OK
    assert rm_map(device.client, device.handle, video, gpu.fd, MIB) == nvrm.STATE_IN_USE
    assert _refused(errno.EINVAL, gpu.fd, MIB, offset=4096)
    assert _refused(errno.EINVAL, gpu.fd, MIB, flags=mmap.MAP_PRIVATE)
    assert _refused(errno.ENXIO, gpu.fd, MIB // 2)
    assert _refused(errno.ENXIO, gpu.fd, 2 * MIB)
    assert _refused(errno.ERANGE, ctl.fd, 2 * MIB)
    poke(map_fd(gpu.fd, MIB), 5)
    assert peek(map_fd(gpu.fd, MIB)) == 5
    map_fd(ctl.fd, MIB // 2)


def check_ptrace_reaches_memory_and_no_register() -> None:
    device = _device()
    video, _, _ = device.memory(MIB)
    address = cpu_map(device, video, MIB, "nvidia0")
    poke(address + 4096, 0x1234)
    doorbell = Doorbell(device)
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(address + 4096)
        assert memory.read(4) == b"\x34\x12\0\0"
        memory.seek(address)
        memory.write(b"seen")
        memory.seek(doorbell.address)
        assert error_of(memory.read, 4) == errno.EIO
    assert ctypes.string_at(address, 4) == b"seen"


def check_memory_freed_while_mapped() -> None:
    device = _device()
    handle, _, _ = device.memory(MIB)
    address = cpu_map(device, handle, MIB, "nvidia0")
    ctypes.memset(address, 0x5A, MIB)
    assert nvrm.used() == MIB
    assert device.client.free(handle) == nvrm.OK
    assert nvrm.used() == 0
    other, _, _ = device.memory(MIB)
    assert ctypes.string_at(address, MIB) == b"\x5a" * MIB
    ctypes.memset(address, 0xA5, MIB)
    assert ctypes.string_at(cpu_map(device, other, MIB, "nvidia0"), MIB) == bytes(MIB)
    unmap(address, MIB)


def check_client_freed_while_mapped() -> None:
    device = _device()
    queue = Queue(device)
    _, cpu = _memory(queue, FAR)
    poke(cpu, 1)
    assert device.client.free(device.client.handle) == nvrm.OK
    queue.push(*fill(FAR, 2, 1))
    queue.doorbell.ring(queue.token)
    time.sleep(0.05)
    assert peek(cpu) == 1
    assert nvrm.used() == 0


def check_acquire_stalls_its_channel_alone() -> None:
    device = _device()
    first = Queue(device)
    second = Queue(device, first.space, first.base + SIZE, first.doorbell)
    first.submit(*acquire(first.semaphore(0), 10), *release(first.semaphore(1), 1))
    second.submit(*release(second.semaphore(0), 1))
    wait_until(lambda: second.value(0) == 1)
    first.set(0, 9)
    time.sleep(0.05)
    assert first.value(1) == 0
    first.set(0, 11)
    wait_until(lambda: first.value(1) == 1)
    # One channel waits for another.
    first.submit(*acquire(second.semaphore(2), 5), *release(first.semaphore(1), 2))
    second.submit(*release(second.semaphore(2), 5))
    wait_until(lambda: first.value(1) == 2)


def check_reduction() -> None:
    queue = Queue(_device())
    queue.set(0, 40)
    add = method(0, 0x5C, queue.semaphore(0) & 0xFFFFFFFF, queue.semaphore(0) >> 32, 2, 0)
    queue.submit(*add, *method(0, 0x6C, 6 | 5 << 27 | 1 << 31))
    wait_until(lambda: queue.value(0) == 42)


def check_a_fault_kills_one_channel() -> None:
    device = _device()
    first = Queue(device)
    second = Queue(device, first.space, first.base + SIZE, first.doorbell)
    first.submit(*copy(FAR, FAR + MIB, 4096), *release(first.semaphore(0), 1))
    wait_until(first.died)
    first.submit(*release(first.semaphore(0), 1))
    second.submit(*release(second.semaphore(0), 1))
    wait_until(lambda: second.value(0) == 1)
    assert first.value(0) == 0 and not second.died()


def check_nonsense_is_survived() -> None:
    device = _device()
    for junk in (b"\xff", b"\xde\xad\xbe\xef", b"\xc7\x00\x20\x01", None):
        queue = Queue(device)
        data = os.urandom(4096) if junk is None else (junk * 4096)[:4096]
        queue.submit(*struct.unpack("<1024I", data))
        wait_until(lambda queue=queue: queue.idle() or queue.died())  # type: ignore[misc]
    queue = Queue(device)
    poke(queue.userd + 0x8C, 0x7FFFFFFF)
    queue.doorbell.ring(0)
    wait_until(queue.died)
    queue = Queue(device)
    for i in range(64):
        poke(queue.cpu + 8 * i, 0xFFFFFFFC)
        poke(queue.cpu + 8 * i + 4, 0xFFFFFFFF)
    poke(queue.userd + 0x8C, 63)
    queue.doorbell.ring(0)
    wait_until(queue.died)


def check_a_launch_takes_its_time() -> None:
    queue = Queue(_device())
    block_ns = _block_ns()
    for grid in (1000, 20000):
        queue.submit(
            *release(queue.semaphore(0), grid), *launch(queue.qmd, grid, queue.semaphore(1), grid)
        )
        wait_until(lambda grid=grid: queue.value(1) == grid)  # type: ignore[misc]
        took = queue.time_ns(1) - queue.time_ns(0)
        assert grid * block_ns <= took < grid * block_ns + 200_000_000, took


def check_launches_that_never_end() -> None:
    """Descriptors of no time in a circle occupy their group, and neither the machine nor others."""
    device = _device()
    first, second = Queue(device), Queue(_device())
    circle = launch(first.qmd, 0, first.semaphore(1), 1)
    qmd = circle[-64:]
    qmd[15], qmd[16] = first.qmd >> 8, 1
    first.submit(*circle[:-64], *qmd)
    wait_until(lambda: first.value(1) == 1)
    for i in range(1, 5):
        second.submit(*launch(second.qmd, 100, second.semaphore(1), i))
        wait_until(lambda i=i: second.value(1) == i)  # type: ignore[misc]
    assert first.get() == 0
    assert device.client.free(first.channel) == nvrm.OK


def check_groups_share_the_engine() -> None:
    """Two launches at once take twice as long, and end at nearly the same time."""
    block_ns = _block_ns()
    queues = [Queue(_device()), Queue(_device())]
    grid = 200_000_000 // block_ns
    for queue in queues:
        queue.submit(
            *release(queue.semaphore(0), 1),
            *launch(queue.qmd, grid, queue.semaphore(1), 1),
        )
    wait_until(lambda: all(queue.value(1) == 1 for queue in queues))
    ends = sorted(queue.time_ns(1) for queue in queues)
    whole = ends[1] - min(queue.time_ns(0) for queue in queues)
    assert whole >= 2 * grid * block_ns * 0.98, whole
    assert ends[1] - ends[0] < 0.25 * whole, ends


def check_a_disabled_group_does_not_run() -> None:
    queue = Queue(_device())
    queue.schedule(False)
    queue.submit(*release(queue.semaphore(0), 1))
    time.sleep(0.05)
    assert queue.value(0) == 0
    queue.schedule(True)
    wait_until(lambda: queue.value(0) == 1)
    # In the middle of a launch.
    block_ns = _block_ns()
    grid = 100_000_000 // block_ns
    queue.submit(*launch(queue.qmd, grid, queue.semaphore(1), 1))
    time.sleep(0.03)
    queue.schedule(False)
    time.sleep(0.2)
    assert queue.value(1) == 0
    queue.schedule(True)
    wait_until(lambda: queue.value(1) == 1)


def check_channels_that_an_administrator_stops() -> None:
    queue = Queue(_device())
    client = queue.device.client
    p = bytearray(536)
    for disable in (1, 0):
        struct.pack_into("<II", p, 0, disable, 1)
        struct.pack_into("<I", p, 24, client.handle)
        struct.pack_into("<I", p, 280, queue.channel)
        assert client.control(queue.device.sub, 0x2080110B, p) == nvrm.OK
        if disable:
            queue.submit(*release(queue.semaphore(0), 1))
            time.sleep(0.05)
            assert queue.value(0) == 0
    wait_until(lambda: queue.value(0) == 1)


def check_channel_arguments() -> None:
    device = _device()
    client = device.client
    queue = Queue(device)
    userd, _, _ = device.memory(4096)

    def channel(**fields: int) -> int:
        p = bytearray(360)
        struct.pack_into("<QI", p, 8, queue.base, fields.get("entries", 64))
        struct.pack_into("<I", p, 28, fields.get("vaspace", queue.space.handle))
        struct.pack_into("<I", p, 32, fields.get("userd", userd))
        struct.pack_into("<Q", p, 64, fields.get("offset", 0))
        handle, status = client.alloc(queue.group, 0, nvrm.CHANNEL, p, check=False)
        if status == nvrm.OK:
            client.free(handle)
        return status

    assert channel() == nvrm.OK
    for bad in (
        {"entries": 0}, {"entries": 1 << 31}, {"vaspace": userd}, {"userd": queue.group},
        {"userd": 0}, {"offset": 4096}, {"offset": 8}, {"offset": (1 << 64) - 512},
    ):  # fmt: skip
        assert channel(**bad) != nvrm.OK, bad


def check_gpu_addresses() -> None:
    device = _device()
    space = Space(device)
    handle, _, _ = device.memory(MIB)
    other, _, _ = device.memory(MIB)
    first, second = space.map(handle, MIB), space.map(other, MIB)
    assert first != second
    assert space.map(handle, MIB, FAR) == FAR
    for va in (FAR, FAR + MIB - 4096, FAR - 4096, FAR + 1):
        try:
            space.map(other, MIB, va)
        except nvrm.RMError:
            continue
        raise AssertionError(f"mapped over another at {va:#x}")
    assert space.unmap(other, FAR) == nvrm.OBJECT_NOT_FOUND
    assert space.unmap(handle, FAR) == nvrm.OK
    assert space.map(other, MIB, FAR) == FAR
    # Memory takes its mappings with it.
    assert device.client.free(other) == nvrm.OK
    assert space.map(handle, MIB, FAR) == FAR
    # Reservations do not overlap, and go with their addresses.
    fixed = nvrm.FLAG_VIRTUAL | 0x10
    for want in (nvrm.OK, nvrm.NO_MEMORY):
        p = bytearray(120)
        struct.pack_into("<I", p, 8, fixed)
        struct.pack_into("<QQQ", p, 64, MIB, 0, 0x5_0000_0000)
        struct.pack_into("<I", p, 108, space.handle)
        _, status = device.client.alloc(device.handle, 0, nvrm.VIRTUAL, p, check=False)
        assert status == want, hex(status)


def check_user_memory() -> None:
    """Pinned pages of a process are read and written, also when it has unmapped them."""
    queue = Queue(_device())
    device = queue.device
    _, video = _memory(queue, FAR)
    own = map_fd(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    ctypes.memset(own, 0x77, MIB)
    p = bytearray(56)
    struct.pack_into(
        "<IIIII",
        p,
        0,
        device.client.handle,
        device.handle,
        0,
        nvrm.OS_DESCRIPTOR,
        1 << 30 | 1 << 12,
    )
    struct.pack_into("<QQ", p, 24, own, MIB - 1)
    struct.pack_into("<i", p, 48, -1)
    assert nvrm.call(device.node.fd, 0x27, p) == 0 and word(p, 40) == nvrm.OK, hex(word(p, 40))
    queue.space.map(word(p, 8), MIB, FAR + MIB)
    queue.submit(
        *copy(FAR, FAR + MIB, MIB),
        *fill(FAR + MIB, 0x11111111, 1024),
        *release(queue.semaphore(0), 1),
    )
    wait_until(lambda: queue.value(0) == 1)
    assert ctypes.string_at(video, MIB) == b"\x77" * MIB
    assert ctypes.string_at(own, 4100) == b"\x11" * 4096 + b"\x77" * 4
    unmap(own, MIB)
    queue.submit(*fill(FAR + MIB, 0, MIB // 4), *release(queue.semaphore(0), 2))
    wait_until(lambda: queue.value(0) == 2)


def check_killed_while_working() -> None:
    """With copies, launches and stalls under way; the caller sees that the books are empty."""
    for i in range(10):
        pid = os.fork()
        if not pid:
            queue = Queue(_device())
            _memory(queue, FAR, 16 * MIB)
            queue.submit(
                *fill(FAR, 1, 4 * MIB),
                *launch(queue.qmd, 10**9, queue.semaphore(1), 1),
            )
            other = Queue(queue.device, queue.space, queue.base + SIZE, queue.doorbell)
            other.submit(*acquire(other.semaphore(0), 1))
            while True:
                time.sleep(1)
        time.sleep(0.02 * i)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        wait_until(lambda: nvrm.used() == 0)


if __name__ == "__main__":
    sys.exit(checks.run(globals()))
