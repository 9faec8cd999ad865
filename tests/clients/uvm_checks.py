# SPDX-License-Identifier: Apache-2.0
"""What nvsim's nvidia-uvm answers to raw calls. Each check_ function is a test of its own."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import struct
import sys
import uuid
from pathlib import Path

import checks
import nvrm
from checks import wait_until
from engine_checks import _refused
from gpuqueue import Queue, copy, error_of, map_fd, peek, poke, release, unmap
from nvrm import Client, Device, Node, word

MIB = 1 << 20
FAR = 0x3_0000_0000

ILLEGAL_ACTION = 0x16
INVALID_ADDRESS = 0x1E
INVALID_DEVICE = 0x26
UUID_NOT_FOUND = 0x12
ADDRESS_IN_USE = 0x68
NOTHING_TO_DO = 0x10006

INITIALIZE = 0x30000001
SHARED = 2

# uvm_ioctl.h: number, size and where the status is
REGISTER_GPU_VASPACE, UNREGISTER_GPU_VASPACE = (25, 32, 28), (26, 20, 16)
REGISTER_CHANNEL = (27, 56, 48)
MAP_EXTERNAL, FREE, REGISTER_GPU = (33, 1200, 1196), (34, 24, 16), (37, 40, 36)
PAGEABLE, UNMAP_EXTERNAL, SEMAPHORE_POOL = (39, 8, 4), (66, 40, 32), (68, 1184, 1176)
VALIDATE, CREATE_EXTERNAL, MM_INITIALIZE = (72, 24, 16), (73, 24, 16), (75, 8, 4)
PREFER, MIGRATE = (42, 40, 32), (51, 80, 72)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]


def gpu_uuid(index: int = 0) -> bytes:
    text = Path(f"/proc/driver/nvidia/gpus/0000:{index + 1:02x}:00.0/information").read_text()
    return uuid.UUID(text.split("GPU-")[1].split()[0]).bytes


class Uvm:
    """An open nvidia-uvm file."""

    def __init__(self, flags: int | None = 0) -> None:
        self.fd = os.open("/dev/nvidia-uvm", os.O_RDWR | os.O_CLOEXEC)
        if flags is not None:
            assert self.call((INITIALIZE, 16, 8), struct.pack("<Q", flags)) == nvrm.OK

    def call(self, what: tuple[int, int, int], params: bytes) -> int:
        number, size, status_at = what
        buffer = ctypes.create_string_buffer(params.ljust(size, b"\0"), size)
        if _libc.ioctl(self.fd, number, ctypes.addressof(buffer)):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self.reply = buffer.raw
        return word(self.reply, status_at)

    def register(self, device: Device, space: int) -> None:
        assert self.call(REGISTER_GPU, gpu_uuid()) == nvrm.OK
        p = gpu_uuid() + struct.pack("<iII", -1, device.client.handle, space)
        assert self.call(REGISTER_GPU_VASPACE, p) == nvrm.OK

    def range(self, what: tuple[int, int, int], base: int, length: int) -> int:
        return self.call(what, struct.pack("<QQ", base, length))

    def map(self, base: int, length: int, client: Client, memory: int, offset: int = 0) -> int:
        p = bytearray(1200)
        struct.pack_into("<QQQ", p, 0, base, length, offset)
        p[24:40] = gpu_uuid()
        struct.pack_into("<QiII", p, 1176, 1, -1, client.handle, memory)
        return self.call(MAP_EXTERNAL, bytes(p))

    def managed(self, length: int) -> int:
        """Managed memory where the kernel finds room for it."""
        hole = map_fd(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        return map_fd(self.fd, length, offset=hole, at=hole)


def _queue() -> tuple[Queue, Uvm]:
    queue = Queue(Client().device())
    uvm = Uvm()
    uvm.register(queue.device, queue.space.handle)
    return queue, uvm


def check_initialization() -> None:
    uvm = Uvm(None)
    assert uvm.call(PAGEABLE, b"") == ILLEGAL_ACTION
    assert _refused(errno.EBADFD, uvm.fd, MIB)
    assert uvm.call((INITIALIZE, 16, 8), struct.pack("<Q", 8)) == nvrm.INVALID_ARGUMENT
    assert uvm.call((INITIALIZE, 16, 8), struct.pack("<Q", 0)) == nvrm.OK
    assert uvm.call((INITIALIZE, 16, 8), struct.pack("<Q", 0)) == nvrm.OK
    assert uvm.call((INITIALIZE, 16, 8), struct.pack("<Q", SHARED)) == nvrm.INVALID_ARGUMENT
    assert uvm.call(PAGEABLE, b"\1") == nvrm.OK and uvm.reply[0] == 0
    assert error_of(uvm.call, (9999, 8, 0), b"") == errno.EINVAL


def check_mm_file() -> None:
    space, shared, bare = Uvm(0), Uvm(SHARED), Uvm(None)
    ctl = Node("nvidiactl")
    for fd in (ctl.fd, 999, bare.fd, os.open("/dev/null", os.O_RDWR), Uvm(None).fd):
        assert bare.call(MM_INITIALIZE, struct.pack("<i", fd)) == nvrm.INVALID_ARGUMENT
    assert bare.call(MM_INITIALIZE, struct.pack("<i", shared.fd)) == NOTHING_TO_DO
    assert bare.call(MM_INITIALIZE, struct.pack("<i", space.fd)) == nvrm.OK
    assert bare.call(MM_INITIALIZE, struct.pack("<i", space.fd)) == nvrm.INVALID_ARGUMENT
    assert bare.call((INITIALIZE, 16, 8), struct.pack("<Q", 0)) == ILLEGAL_ACTION
    assert space.call(MM_INITIALIZE, struct.pack("<i", space.fd)) == nvrm.INVALID_ARGUMENT
    os.close(space.fd)


def check_registration() -> None:
    uvm = Uvm()
    assert uvm.call(REGISTER_GPU, bytes(16)) == UUID_NOT_FOUND
    # F2: no open file of the GPU in this process.
    assert uvm.call(REGISTER_GPU, gpu_uuid()) == nvrm.INSUFFICIENT_PERMISSIONS
    queue = Queue(Client().device())
    client = queue.device.client
    p = gpu_uuid() + struct.pack("<iII", -1, client.handle, queue.space.handle)
    assert uvm.call(REGISTER_GPU_VASPACE, p) == INVALID_DEVICE
    uvm.register(queue.device, queue.space.handle)
    assert uvm.call(REGISTER_GPU_VASPACE, p) == INVALID_DEVICE
    assert Uvm().call(REGISTER_GPU, gpu_uuid()) == nvrm.OK
    other = Uvm()
    assert other.call(REGISTER_GPU, gpu_uuid()) == nvrm.OK
    assert other.call(REGISTER_GPU_VASPACE, p) == INVALID_DEVICE
    channel = gpu_uuid() + struct.pack("<iII", -1, client.handle, queue.channel)
    assert uvm.call(REGISTER_CHANNEL, channel) == nvrm.OK
    channel = gpu_uuid() + struct.pack("<iII", -1, client.handle, queue.group)
    assert uvm.call(REGISTER_CHANNEL, channel) != nvrm.OK
    assert uvm.call(UNREGISTER_GPU_VASPACE, gpu_uuid()) == nvrm.OK
    assert other.call(REGISTER_GPU_VASPACE, p) == nvrm.OK


def check_external_memory() -> None:
    queue, uvm = _queue()
    client = queue.device.client
    handle, _, _ = queue.device.memory(2 * MIB)
    before = nvrm.used()
    assert uvm.map(FAR, MIB, client, handle) == INVALID_ADDRESS
    assert uvm.range(CREATE_EXTERNAL, FAR, 2 * MIB) == nvrm.OK
    assert uvm.range(CREATE_EXTERNAL, FAR + MIB, 2 * MIB) == ADDRESS_IN_USE
    assert uvm.range(CREATE_EXTERNAL, FAR + 1, MIB) == INVALID_ADDRESS
    assert uvm.map(FAR, MIB, client, 0xDEAD) != nvrm.OK
    assert uvm.map(FAR, 2 * MIB, client, handle, MIB) != nvrm.OK
    assert uvm.map(FAR + MIB, 2 * MIB, client, handle) == INVALID_ADDRESS
    assert uvm.map(FAR, MIB, client, handle, MIB) == nvrm.OK
    assert uvm.map(FAR + MIB, MIB, client, handle) == nvrm.OK
    queue.submit(*copy(FAR, FAR + MIB, MIB), *release(queue.semaphore(0), 1))
    wait_until(lambda: queue.value(0) == 1)

    # A mapping keeps the memory, its range's end gives it back.
    assert client.free(handle) == nvrm.OK
    assert nvrm.used() == before
    p = struct.pack("<QQ", FAR, MIB) + gpu_uuid()
    assert uvm.call(UNMAP_EXTERNAL, p) == nvrm.OK
    assert uvm.call(UNMAP_EXTERNAL, p) == INVALID_ADDRESS
    assert nvrm.used() == before
    assert uvm.range(VALIDATE, FAR, 2 * MIB) == nvrm.OK
    assert uvm.range(FREE, FAR, MIB) == INVALID_ADDRESS
    assert uvm.range(FREE, FAR, 2 * MIB) == nvrm.OK
    assert uvm.range(FREE, FAR, 2 * MIB) == INVALID_ADDRESS
    assert uvm.range(VALIDATE, FAR, 2 * MIB) == INVALID_ADDRESS
    assert nvrm.used() == before - 2 * MIB
    queue.submit(*copy(FAR, FAR + MIB, MIB))
    wait_until(queue.died)


def check_closing_gives_back() -> None:
    queue, uvm = _queue()
    handle, _, _ = queue.device.memory(2 * MIB)
    before = nvrm.used()
    assert uvm.range(CREATE_EXTERNAL, FAR, 2 * MIB) == nvrm.OK
    assert uvm.map(FAR, 2 * MIB, queue.device.client, handle) == nvrm.OK
    assert queue.device.client.free(handle) == nvrm.OK
    assert nvrm.used() == before
    os.close(uvm.fd)
    assert nvrm.used() == before - 2 * MIB


def check_memory_of_another_process_is_refused() -> None:
    queue, uvm = _queue()
    handle, _, _ = queue.device.memory(MIB)
    assert uvm.range(CREATE_EXTERNAL, FAR, MIB) == nvrm.OK
    pid = os.fork()
    if not pid:
        os._exit(uvm.map(FAR, MIB, queue.device.client, handle) == nvrm.OK)
    assert os.waitpid(pid, 0)[1] == 0


def check_managed_memory() -> None:
    queue, uvm = _queue()
    first, second = uvm.managed(MIB), uvm.managed(MIB)
    assert uvm.range(VALIDATE, first, MIB) == nvrm.OK
    data = os.urandom(MIB)
    ctypes.memmove(first, data, MIB)
    queue.submit(*copy(second, first, MIB), *release(queue.semaphore(0), 1))
    wait_until(lambda: queue.value(0) == 1)
    assert ctypes.string_at(second, MIB) == data
    advice = struct.pack("<QQ", first, MIB) + gpu_uuid()
    assert uvm.call(PREFER, advice) == nvrm.OK
    assert uvm.call(MIGRATE, advice) == nvrm.OK
    # Partly unmapped, it is partly there.
    unmap(first + 256 * 1024, 256 * 1024)
    assert uvm.range(VALIDATE, first, MIB) == INVALID_ADDRESS
    assert uvm.range(VALIDATE, first, 256 * 1024) == nvrm.OK
    assert uvm.range(VALIDATE, first + 512 * 1024, 512 * 1024) == nvrm.OK
    assert ctypes.string_at(first + 512 * 1024, 512 * 1024) == data[512 * 1024 :]
    queue.submit(*copy(second, first + 512 * 1024, 512 * 1024), *release(queue.semaphore(0), 2))
    wait_until(lambda: queue.value(0) == 2)
    assert ctypes.string_at(second, 512 * 1024) == data[512 * 1024 :]
    queue.submit(*copy(second, first + 256 * 1024, 4096))
    wait_until(queue.died)
    assert uvm.range(FREE, second, MIB) == INVALID_ADDRESS
    unmap(second, MIB)
    assert uvm.range(VALIDATE, second, MIB) == INVALID_ADDRESS


def check_managed_mappings_follow_the_rules() -> None:
    uvm = Uvm()
    hole = map_fd(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    assert _refused(errno.EINVAL, uvm.fd, MIB, offset=0, at=hole)
    assert _refused(errno.EINVAL, uvm.fd, MIB, mmap.PROT_READ, offset=hole, at=hole)
    assert _refused(errno.EINVAL, uvm.fd, MIB, flags=mmap.MAP_PRIVATE, offset=hole, at=hole)
    assert uvm.range(CREATE_EXTERNAL, hole, MIB) == nvrm.OK
    assert _refused(errno.EINVAL, uvm.fd, MIB, offset=hole, at=hole)
    assert uvm.range(FREE, hole, MIB) == nvrm.OK
    address = uvm.managed(MIB)
    poke(address, 7)
    spare = map_fd(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pid = os.fork()
    if not pid:
        if not _refused(errno.EOPNOTSUPP, uvm.fd, MIB, offset=spare, at=spare):
            os._exit(1)
        peek(address)
        os._exit(2)
    _, how = os.wait()
    assert os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGBUS, how
    assert peek(address) == 7
    assert uvm.range(VALIDATE, address, MIB) == nvrm.OK


def check_semaphore_pool() -> None:
    queue, uvm = _queue()
    p = bytearray(1184)
    base = 0x10_0000_0000  # host semaphores have addresses of 40 bits
    struct.pack_into("<QQ", p, 0, base, MIB)
    p[16:32] = gpu_uuid()
    struct.pack_into("<Q", p, 1168, 1)
    assert uvm.call(SEMAPHORE_POOL, bytes(p)) == nvrm.OK
    assert uvm.call(SEMAPHORE_POOL, bytes(p)) == ADDRESS_IN_USE
    assert map_fd(uvm.fd, MIB, offset=base, at=base) == base
    queue.submit(*release(base + 4096, 0x1234))
    wait_until(lambda: peek(base + 4096) == 0x1234)
    # The pool is there without its mapping, and the mapping outlives the pool.
    assert uvm.range(FREE, base, MIB) == nvrm.OK
    assert peek(base + 4096) == 0x1234
    queue.submit(*release(base + 4096, 1))
    wait_until(queue.died)


def check_arguments_that_make_no_sense() -> None:
    _, uvm = _queue()
    top = (1 << 64) - 4096
    for base, length in ((0, 0), (top, 8192), (top, 1 << 63), (1, 4096), (4096, 1), (4096, 0)):
        for what in (CREATE_EXTERNAL, FREE, VALIDATE, SEMAPHORE_POOL, MIGRATE, UNMAP_EXTERNAL):
            assert uvm.range(what, base, length) != nvrm.OK, (what, base, length)
    assert _libc.ioctl(uvm.fd, 73, None) == -1 and ctypes.get_errno() == errno.EFAULT


def check_killed_with_everything_mapped() -> None:
    for _ in range(10):
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            queue, uvm = _queue()
            handle, _, _ = queue.device.memory(4 * MIB)
            uvm.range(CREATE_EXTERNAL, FAR, 4 * MIB)
            uvm.map(FAR, 4 * MIB, queue.device.client, handle)
            queue.device.client.free(handle)
            managed = uvm.managed(4 * MIB)
            ctypes.memset(managed, 1, 4 * MIB)
            os.write(writer, b"x")
            while True:
                queue.submit(*copy(FAR, managed, 4 * MIB))
                wait_until(queue.idle)
        os.read(reader, 1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        wait_until(lambda: nvrm.used() == 0)


if __name__ == "__main__":
    sys.exit(checks.run(globals()))
