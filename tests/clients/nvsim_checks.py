# SPDX-License-Identifier: Apache-2.0
"""What nvsim answers to raw calls. Each check_ function is a test of its own, run in the guest."""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import signal
import struct
import sys
import threading
import time
from pathlib import Path

import checks
import nvrm
from checks import wait_until
from nvrm import Client, Node, call, word

MIB = 1 << 20


def check_books_follow_memory() -> None:
    client = Client()
    device = client.device()
    before = device.free_bytes()
    handle, _, size = device.memory(3 * MIB)
    assert size == 3 * MIB
    _, _, size = device.heap(100_000)
    assert size == 0x20000, hex(size)
    assert nvrm.used() == 3 * MIB + 0x20000
    assert before - device.free_bytes() == nvrm.used()
    assert [json.loads(line) for line in nvrm.books()] == [
        {
            "gpu": 0, "client": hex(client.handle), "pid": os.getpid(), "class": "0x40",
            "objects": 2, "bytes": 3 * MIB + 0x20000,
        }
    ]  # fmt: skip
    assert client.free(handle) == nvrm.OK
    assert nvrm.used() == 0x20000
    client.close()
    device.node.close()
    wait_until(lambda: nvrm.used() == 0 and nvrm.books() == [])


def check_rounding() -> None:
    device = Client().device()
    for size, attr, want in (
        (1, 0, 0x1000),
        (0x10000, 0, 0x10000),
        (0x10001, 0, 0x20000),
        (0x10001, 1 << 23, 0x11000),
        (1, 2 << 23, 0x10000),
        (1, 3 << 23, 0x200000),
    ):
        _, status, got = device.memory(size, attr=attr)
        assert (status, got) == (nvrm.OK, want), (hex(size), hex(attr), hex(got))
    _, status, _ = device.memory(0, check=False)
    assert status == nvrm.INVALID_ARGUMENT
    _, status, _ = device.memory((1 << 64) - 1, check=False)
    assert status == nvrm.NO_MEMORY


def check_refuses_when_full() -> None:
    device = Client().device()
    free = device.free_bytes()
    device.memory(free - MIB)
    _, status, _ = device.memory(2 * MIB, check=False)
    assert status == nvrm.NO_MEMORY
    _, status, _ = device.heap(2 * MIB, check=False)
    assert status == nvrm.NO_MEMORY
    device.memory(MIB)
    assert device.free_bytes() == 0


def check_sizes_that_are_told() -> None:
    device = Client().device()
    total, heap, free, tax = device.fb_info(0x8, 0x9, 0x16, 0x10)
    assert total == 16 << 20 and tax == 0
    assert heap == free == total - (512 << 10)


def check_virtual_is_not_memory() -> None:
    device = Client().device()
    vaspace, _ = device.client.alloc(device.handle, 0, nvrm.VASPACE, bytearray(48))
    device.heap(0x700000000, flags=nvrm.FLAG_VIRTUAL, vaspace=vaspace)
    assert nvrm.used() == 0
    _, status, _ = device.memory(MIB, flags=nvrm.FLAG_VIRTUAL, check=False)
    assert status == nvrm.INVALID_ARGUMENT


def check_system_memory_is_not_booked() -> None:
    device = Client().device()
    device.memory(64 * MIB, class_=nvrm.SYSMEM)
    device.heap(64 * MIB, attr=nvrm.ATTR_PCI)
    assert nvrm.used() == 0


def check_ancestors_free() -> None:
    client = Client()
    device = client.device()
    device.memory(MIB)
    _, status = client.alloc(device.sub, 0, nvrm.VIDMEM, _memory_params(MIB))
    assert status == nvrm.OK and nvrm.used() == 2 * MIB
    assert client.free(device.sub) == nvrm.OK
    assert nvrm.used() == MIB
    assert client.free(device.handle) == nvrm.OK
    assert nvrm.used() == 0
    assert client.free(device.handle) == nvrm.OK  # absent: fine
    device = client.device()
    device.memory(MIB)
    assert client.free(client.handle) == nvrm.OK
    assert nvrm.used() == 0
    assert client.free(client.handle) == nvrm.INVALID_CLIENT


def _memory_params(size: int) -> bytearray:
    p = bytearray(120)
    struct.pack_into("<Q", p, 64, size)
    return p


def check_handles() -> None:
    client = Client()
    assert client.handle & 0xFFFFFF00 == 0xC1D00000, hex(client.handle)
    device = client.device()
    assert device.handle & 0xFFFF0000 == 0xCAF00000
    device.memory(MIB, handle=0x5C000001)
    _, status, _ = device.memory(MIB, handle=0x5C000001, check=False)
    assert status == nvrm.INSERT_DUPLICATE_NAME and nvrm.used() == MIB
    _, status = client.alloc(0x1234, 0, nvrm.VIDMEM, _memory_params(MIB), check=False)
    assert status == nvrm.INVALID_OBJECT_PARENT
    _, status = client.alloc(client.handle, 0, nvrm.VIDMEM, _memory_params(MIB), check=False)
    assert status == nvrm.INVALID_OBJECT_PARENT
    _, status = client.alloc(device.handle, 0, 0xBEEF, 0, check=False)
    assert status == nvrm.INVALID_CLASS
    assert nvrm.used() == MIB


def check_controls_are_checked() -> None:
    client = Client()
    device = client.device()
    assert client.control(device.sub, 0x20801303, bytearray(440)) == nvrm.INVALID_PARAM_STRUCT
    assert client.control(device.handle, 0x20801303, bytearray(436)) == nvrm.NOT_SUPPORTED
    assert client.control(device.sub, 0x2080FFFF, bytearray(4)) == nvrm.NOT_SUPPORTED
    assert client.control(0x77, 0x20801303, bytearray(436)) == nvrm.OBJECT_NOT_FOUND
    p = bytearray(436)
    struct.pack_into("<II", p, 0, 1, 0x99)
    assert client.control(device.sub, 0x20801303, p) == nvrm.INVALID_ARGUMENT
    struct.pack_into("<I", p, 0, 0xFFFFFFFF)
    assert client.control(device.sub, 0x20801303, p) == nvrm.INVALID_PARAM_STRUCT
    assert client.control(device.sub, 0, bytearray(4)) == nvrm.OK


def check_nodes_and_sizes() -> None:
    """Only GPU files take RM_ALLOC_MEMORY, only nvidiactl the rest; sizes are exact."""
    client = Client()
    device = client.device()
    gpu = device.node.fd
    for nr, size in ((0x29, 16), (0x2A, 32), (0x4A, 184), (0x4E, 56), (0x34, 28), (200, 72)):
        assert call(gpu, nr, bytearray(size)) == errno.EINVAL, hex(nr)
        if nr != 200:
            assert call(client.ctl.fd, nr, bytearray(size + 4)) == errno.EINVAL, hex(nr)
    assert call(client.ctl.fd, 0x27, bytearray(56)) == errno.EINVAL
    assert call(client.ctl.fd, 0x7F, bytearray(16)) == errno.EINVAL
    assert call(client.ctl.fd, 0x2B, bytearray(40)) == errno.EINVAL
    p = bytearray(struct.pack("<IIIIQII", client.handle, device.handle, 0, nvrm.VIDMEM, 0, 0, 0))
    assert call(gpu, 0x2B, p) == errno.EINVAL


def check_transfer_command() -> None:
    """NV_ESC_IOCTL_XFER_CMD is unwrapped."""
    client = Client()
    inner = bytearray(struct.pack("<IIII", client.handle, 0, 0x4242, 0xFFFF))
    outer = bytearray(struct.pack("<IIQ", 0x29, 16, nvrm.address(inner)))
    assert call(client.ctl.fd, 211, outer) == 0
    assert word(inner, 12) == nvrm.OK
    outer = bytearray(struct.pack("<IIQ", 0x29, 16385, nvrm.address(inner)))
    assert call(client.ctl.fd, 211, outer) == errno.EINVAL


def check_ownership() -> None:
    """F5: a client answers to the file that made it, and to GPU files registered to that."""
    client = Client()
    device = client.device()
    stranger = Client()
    stranger_handle = stranger.handle
    stranger.handle = client.handle
    assert stranger.free(device.handle) == nvrm.INVALID_CLIENT
    assert stranger.control(device.sub, 0x20801303, bytearray(436)) == nvrm.INVALID_CLIENT
    _, status = stranger.alloc(device.handle, 0, nvrm.VIDMEM, _memory_params(MIB), check=False)
    assert status == nvrm.INVALID_CLIENT
    stranger.handle = stranger_handle
    event = bytearray(struct.pack("<IIIIQ", 0, device.sub, 0, 0, 9))
    client.alloc(device.sub, 0, nvrm.EVENT, event, fd=device.node.fd)
    loose = Node("nvidia0")
    _, status = client.alloc(device.sub, 0, nvrm.EVENT, event, fd=loose.fd, check=False)
    assert status == nvrm.INVALID_CLIENT


def check_register_fd() -> None:
    """F1: judged by the numbers of the inode; once a file; never in a circle."""
    ctl, other = Node("nvidiactl"), Node("nvidiactl")
    gpu = Node("nvidia0")
    null = os.open("/dev/null", os.O_RDWR)
    assert call(gpu.fd, 201, bytearray(struct.pack("<i", null))) == errno.EINVAL
    assert call(gpu.fd, 201, bytearray(struct.pack("<i", -1))) == errno.EINVAL
    assert gpu.register(gpu) == errno.EINVAL
    assert ctl.register(ctl) == errno.EINVAL
    assert gpu.register(ctl) == 0
    assert gpu.register(ctl) == errno.EINVAL
    assert other.register(ctl) == 0
    assert ctl.register(other) == errno.EINVAL


def check_registered_file_keeps_the_client() -> None:
    client = Client()
    device = client.device()
    device.memory(MIB)
    client.close()
    assert nvrm.used() == MIB  # the GPU file holds the nvidiactl
    device.node.close()
    wait_until(lambda: nvrm.used() == 0)


def check_open_gpu_is_needed() -> None:
    """F2: a device wants an open file of its GPU among the caller's descriptors."""
    client = Client()
    params = bytearray(56)
    _, status = client.alloc(client.handle, 0, nvrm.DEVICE, params, check=False)
    assert status == nvrm.INSUFFICIENT_PERMISSIONS
    node = Node("nvidia0")
    handle, status = client.alloc(client.handle, 0, nvrm.DEVICE, params)
    node.close()
    client.alloc(handle, 0, nvrm.SUBDEVICE, bytearray(4))  # only the device asks


def check_map_checks() -> None:
    """F1, F6 and one context a file of RM_MAP_MEMORY."""
    client = Client()
    device = client.device()
    handle, _, size = device.memory(MIB)
    system, _, _ = device.memory(MIB, class_=nvrm.SYSMEM)

    def rm_map(memory: int, fd: int, length: int = MIB) -> int:
        p = bytearray(56)
        struct.pack_into("<III", p, 0, client.handle, device.handle, memory)
        struct.pack_into("<Q", p, 24, length)
        struct.pack_into("<i", p, 48, fd)
        assert call(client.ctl.fd, 0x4E, p) == 0
        return word(p, 40)

    null = os.open("/dev/null", os.O_RDWR)
    assert rm_map(handle, null) == nvrm.INVALID_ARGUMENT
    assert rm_map(handle, Node("nvidiactl").fd) == nvrm.INVALID_ARGUMENT
    assert rm_map(system, Node("nvidia0").fd) == nvrm.INVALID_ARGUMENT
    assert rm_map(handle, Node("nvidia0").fd, 2 * size) != nvrm.OK
    gpu = Node("nvidia0")
    assert rm_map(handle, gpu.fd) == nvrm.OK
    assert rm_map(handle, gpu.fd) == nvrm.STATE_IN_USE
    pid = os.fork()
    if pid == 0:  # the child has the file, but the client is not its own
        os._exit(0 if rm_map(handle, Node("nvidia0").fd) == nvrm.INVALID_CLIENT else 1)
    assert os.waitpid(pid, 0)[1] == 0


def check_dup() -> None:
    """Duplicates share the memory: it is given back with the last of them."""
    one, two = Client(), Client()
    device, target = one.device(), two.device()
    handle, _, _ = device.memory(MIB)

    def dup(source: int) -> tuple[int, int]:
        p = bytearray(
            struct.pack("<IIIIIII", two.handle, target.handle, 0, one.handle, source, 0, 0)
        )
        assert call(two.ctl.fd, 0x34, p) == 0
        return word(p, 8), word(p, 24)

    copy, status = dup(handle)
    assert status == nvrm.OK and nvrm.used() == MIB
    assert one.free(handle) == nvrm.OK and nvrm.used() == MIB
    one.close()
    assert nvrm.used() == MIB
    assert dup(handle)[1] == nvrm.INVALID_CLIENT or dup(handle)[1] == nvrm.OBJECT_NOT_FOUND
    assert two.free(copy) == nvrm.OK and nvrm.used() == 0


def check_dup_across_processes() -> None:
    """Another process may only when RM_SHARE said so."""
    owner = Client()
    device = owner.device()
    handle, _, _ = device.memory(MIB)
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        mine = Client()
        target = mine.device()

        def dup() -> int:
            p = bytearray(
                struct.pack("<IIIIIII", mine.handle, target.handle, 0, owner.handle, handle, 0, 0)
            )
            assert call(mine.ctl.fd, 0x34, p) == 0
            return word(p, 24)

        first = dup()
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0 if first == nvrm.INSUFFICIENT_PERMISSIONS and dup() == nvrm.OK else 1)
    os.read(ready[0], 1)
    share = bytearray(struct.pack("<IIIIHBxI", owner.handle, handle, 0, 0, 1, 0, 0))
    assert call(owner.ctl.fd, 0x35, share) == 0 and word(share, 20) == nvrm.OK
    os.write(go[1], b"x")
    assert os.waitpid(pid, 0)[1] == 0
    assert nvrm.used() == MIB


def check_export() -> None:
    """Memory inside a file lives as long as the file or any handle."""
    client = Client()
    device = client.device()
    handle, _, _ = device.memory(MIB)
    carrier = Node("nvidiactl")
    p = bytearray(struct.pack("<IIIIiI", 1, device.handle, device.handle, handle, carrier.fd, 0))
    assert client.control(client.handle, 0x3D05, p) == nvrm.OK
    client.close()
    device.node.close()
    wait_until(lambda: nvrm.used() == MIB)
    other = Client()
    target = other.device()
    p = bytearray(struct.pack("<iIIII", carrier.fd, 1, target.handle, target.handle, 0))
    assert other.control(other.handle, 0x3D06, p) == nvrm.OK
    carrier.close()
    assert nvrm.used() == MIB
    assert other.free(word(p, 16)) == nvrm.OK and nvrm.used() == 0


def check_os_descriptor() -> None:
    """Pages of the caller become a memory object; not device memory."""
    client = Client()
    device = client.device()
    area = mmap.mmap(-1, MIB)
    where = ctypes.addressof(ctypes.c_char.from_buffer(area))
    p = bytearray(56)
    struct.pack_into("<IIIII", p, 0, client.handle, device.handle, 0, 0x71, 1 << 30)
    struct.pack_into("<QQ", p, 24, where, MIB - 1)
    struct.pack_into("<i", p, 48, -1)
    assert call(device.node.fd, 0x27, p) == 0
    assert word(p, 40) == nvrm.OK and nvrm.used() == 0
    assert client.free(word(p, 8)) == nvrm.OK
    struct.pack_into("<I", p, 8, 0)
    struct.pack_into("<Q", p, 24, 0x1000)
    assert call(device.node.fd, 0x27, p) == 0
    assert word(p, 40) == 0x1E, hex(word(p, 40))


def check_implicit_memory() -> None:
    """A channel and a compute object take what no ioctl names."""
    client = Client()
    device = client.device()
    vaspace, _ = client.alloc(device.handle, 0, nvrm.VASPACE, bytearray(48))
    group_params = bytearray(20)
    struct.pack_into("<II", group_params, 8, vaspace, 1)
    group, _ = client.alloc(device.handle, 0, nvrm.GROUP, group_params)
    userd, _, _ = device.memory(0x10000)
    params = bytearray(360)
    struct.pack_into("<QI", params, 8, 0x100000, 32)
    struct.pack_into("<I", params, 28, 0)
    struct.pack_into("<I", params, 32, userd)
    struct.pack_into("<I", params, 128, 1)
    channel, _ = client.alloc(group, 0, nvrm.CHANNEL, params)
    assert nvrm.used() == 0x10000 + MIB
    size = bytearray(16)
    struct.pack_into("<I", size, 0, channel)
    assert client.control(device.sub, 0x20801218, size) == nvrm.OK
    client.alloc(channel, 0, nvrm.COMPUTE, bytearray(16))
    assert nvrm.used() == 0x10000 + MIB + nvrm.quad(size, 8)
    classes = {json.loads(line)["class"] for line in nvrm.books()}
    assert classes == {"0x40", "0xc56f", "0xc7c0"}, classes
    assert client.free(vaspace) == nvrm.OK  # channel and group hang on it
    assert nvrm.used() == 0x10000


def check_processes() -> None:
    client = Client()
    device = client.device()
    assert device.pids() == []
    device.memory(5 * MIB)
    assert device.pids() == [os.getpid()]
    assert device.pids(0xC797) == []
    p = bytearray(14408)
    struct.pack_into("<III", p, 0, 1, 0, os.getpid())
    assert client.control(device.sub, 0x2080018E, p) == nvrm.OK
    assert word(p, 16) == 0
    assert nvrm.quad(p, 24) == 5 * MIB, nvrm.quad(p, 24)


def check_version() -> None:
    ctl = Node("nvidiactl")

    def ask(command: int, version: bytes) -> tuple[int, int, bytes]:
        p = bytearray(struct.pack("<II64s", command, 0, version))
        error = call(ctl.fd, 210, p)
        return error, word(p, 4), bytes(p[8:]).rstrip(b"\0")

    ours = Path("/sys/module/nvsim/version").read_bytes().strip()
    assert ask(0, ours) == (0, 1, ours)
    assert ask(0, b"535.1.2") == (errno.EINVAL, 1, ours)
    assert ask(ord("1"), b"535.1.2") == (0, 1, b"535.1.2")
    assert ask(ord("1"), b"570.1.2") == (errno.EINVAL, 1, ours)
    assert ask(ord("2"), b"") == (0, 1, ours)


def check_killed_while_allocating() -> None:
    for _ in range(30):
        pid = os.fork()
        if pid == 0:
            device = Client().device()
            while True:
                handle, _, _ = device.memory(MIB)
                device.heap(2 * MIB)
                device.client.free(handle)
        time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    wait_until(lambda: nvrm.used() == 0)
    assert nvrm.books() == []


def check_threads() -> None:
    """Allocations, frees and a closed file at the same time."""
    client = Client()
    device = client.device()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            handle, status, _ = device.memory(MIB, check=False)
            if status == nvrm.OK:
                client.free(handle)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        other = Client()
        other.device().memory(MIB)
        other.close()
    stop.set()
    for thread in threads:
        thread.join()
    client.free(client.handle)
    assert nvrm.used() == 0 or nvrm.used() % MIB == 0


def check_bad_pointers() -> None:
    client = Client()
    device = client.device()
    p = bytearray(struct.pack("<IIIIQII", client.handle, device.handle, 0, 0x40, 0x10, 0, 0))
    assert call(client.ctl.fd, 0x2B, p) == 0 and word(p, 28) == 0x1E
    p = bytearray(struct.pack("<IIIIQII", client.handle, device.handle, 0, 0x40, 0, 0, 0))
    assert call(client.ctl.fd, 0x2B, p) == 0 and word(p, 28) == nvrm.INVALID_ARGUMENT
    p = bytearray(struct.pack("<IIIIQII", client.handle, device.sub, 0x20801303, 0, 16, 436, 0))
    assert call(client.ctl.fd, 0x2A, p) == 0 and word(p, 28) == 0x1E
    info = bytearray(struct.pack("<IIQ", 1, 0, 0x10))
    assert client.control(device.sub, 0x20801301, info) == 0x1E


def check_cards_and_ids() -> None:
    client = Client()
    cards = bytearray(72 * 32)
    assert call(client.ctl.fd, 200, cards) == 0
    ids = [word(cards, 72 * i + 16) for i in range(32) if cards[72 * i]]
    probed = bytearray(256)
    assert client.control(client.handle, 0x214, probed) == nvrm.OK
    assert [word(probed, 4 * i) for i in range(32)] == (ids + [0xFFFFFFFF] * 32)[:32]
    for index, gpu_id in enumerate(ids):
        info = bytearray(struct.pack("<I", gpu_id).ljust(32, b"\0"))
        assert client.control(client.handle, 0x205, info) == nvrm.OK
        assert word(info, 8) == index
        device = client.device(index)
        gid = bytearray(268)
        assert client.control(device.sub, 0x2080014A, gid) == nvrm.OK
        uuid = bytes(gid[12 : 12 + word(gid, 8) - 1]).decode()
        proc = Path(f"/proc/driver/nvidia/gpus/0000:{index + 1:02x}:00.0/information")
        assert uuid in proc.read_text()


if __name__ == "__main__":
    sys.exit(checks.run(globals()))
