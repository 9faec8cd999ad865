# SPDX-License-Identifier: Apache-2.0
"""Streams written by hand for what no recording shows, each with the bookings that RM makes.

Offsets are those of NVIDIA's headers for 535 (src/common/sdk/nvidia/inc/nvos.h and others), written
here a second time on purpose: what is played must not come from the tables that are tested.
"""

from collections.abc import Callable
from typing import Any

from ring0.streams import Argument, Call, Stream

MiB = 1 << 20
PAGE = 4096

ALLOC_MEMORY, FREE, ALLOC, DUP, VID_HEAP, CTXDMA = 0x27, 0x29, 0x2B, 0x34, 0x4A, 0x54
UVM_MAP_EXTERNAL, UVM_FREE, UVM_UNMAP_EXTERNAL = 33, 34, 66
ROOT, DEVICE, SUBDEVICE, VASPACE, TSG, CHANNEL = 0x0, 0x80, 0x2080, 0x90F1, 0xA06C, 0xC56F
CTXSHARE, LOCAL_USER, LOCAL_PHYSICAL, SYSTEM = 0x9067, 0x40, 0xC2, 0x3E
VIRTUAL_FLAG, HANDLE_PROVIDED = 0x80000, 0x4000
LOCATION_PCI = 1 << 25
PAGES_4K, PAGES_BIG, PAGES_HUGE = 1 << 23, 2 << 23, 3 << 23
NO_MEMORY, INVALID_OBJECT = 0x51, 0x31
GPU0, GPU1 = 0x0A0A0A0A, 0x0B0B0B0B


def put(size: int, *fields: tuple[int, int, int]) -> bytes:
    """A struct of so many bytes with (offset, width, value) filled in."""
    data = bytearray(size)
    for offset, width, value in fields:
        data[offset : offset + width] = value.to_bytes(width, "little")
    return bytes(data)


class Writer:
    """Appends calls; `booked` is what the driver books for the call, by hand."""

    def __init__(self, limit: int = 2**64 - 1) -> None:
        self.stream = Stream(limit=limit)

    def call(self, op: str, pid: int, fd: int = 0, text: str = "", **more: Any) -> None:
        calls = self.stream.calls
        calls.append(Call(len(calls) + 1, pid, op, fd, text=text, **more))

    def open(self, pid: int, fd: int, node: str = "nvidiactl") -> None:
        self.call("open", pid, fd, node)

    def dup_fd(self, pid: int, fd: int, new: int) -> None:
        self.call("dup", pid, fd, str(new))

    def close(self, pid: int, fd: int, booked: int = 0) -> None:
        self.call("close", pid, fd, booked=booked)

    def fork(self, child: int, parent: int) -> None:
        self.call("fork", child, parent)

    def exit(self, pid: int, booked: int = 0) -> None:
        self.call("exit", pid, booked=booked)

    def limit(self, size: int) -> None:
        self.call("limit", 0, text=str(size))

    def ioctl(
        self, pid: int, fd: int, nr: int, before: bytes, after: bytes | None = None, **more: Any
    ) -> None:
        self.call("ioctl", pid, fd, nr=nr, outer=Argument(before, after or before), **more)

    def client(self, pid: int, fd: int, handle: int, booked: int = 0) -> None:
        """NVOS21 with everything 0: the driver chooses."""
        before = put(32, (12, 4, ROOT))
        after = put(32, (0, 4, handle), (8, 4, handle), (12, 4, ROOT))
        self.ioctl(pid, fd, ALLOC, before, after, booked=booked)

    def alloc(
        self,
        who: tuple[int, int, int],
        parent: int,
        handle: int,
        class_: int,
        params: bytes = b"",
        written: bytes | None = None,
        *,
        chosen: int = 0,
        status: int = 0,
        rights: bool = False,
        **more: Any,
    ) -> None:
        """NVOS21, or NVOS64 with `rights`; `chosen` is the handle where the request has 0."""
        pid, fd, client = who
        size, at = (48, 40) if rights else (32, 28)
        common = [(0, 4, client), (4, 4, parent), (8, 4, handle), (12, 4, class_)]
        common += [(16, 8, 0x7F0000001000 if params else 0)]
        before = put(size, *common)
        after = put(size, *common, (8, 4, chosen or handle), (at, 4, status))
        inner = Argument(params, written or params) if params else None
        self.ioctl(pid, fd, ALLOC, before, after, inner=inner, **more)

    def memory(
        self,
        who: tuple[int, int, int],
        parent: int,
        handle: int,
        asked: int,
        given: int | None = None,
        *,
        attr: int = 0,
        flags: int = 0,
        class_: int = LOCAL_USER,
        **more: Any,
    ) -> None:
        """RM_ALLOC with NV_MEMORY_ALLOCATION_PARAMS."""
        common = [(8, 4, flags), (24, 4, attr)]
        params = put(120, *common, (64, 8, asked))
        written = put(120, *common, (64, 8, asked if given is None else given))
        self.alloc(who, parent, handle, class_, params, written, **more)

    def heap(
        self,
        who: tuple[int, int, int],
        parent: int,
        handle: int,
        asked: int,
        given: int | None = None,
        *,
        attr: int = 0,
        flags: int = HANDLE_PROVIDED,
        chosen: int = 0,
        status: int = 0,
        **more: Any,
    ) -> None:
        """VID_HEAP_CONTROL, NVOS32_FUNCTION_ALLOC_SIZE."""
        pid, fd, client = who
        common = [(0, 4, client), (4, 4, parent), (8, 4, 2), (44, 4, handle), (52, 4, flags)]
        common += [(56, 4, attr), (88, 8, asked)]
        changed = [(20, 4, status), (44, 4, chosen or handle)]
        changed += [(88, 8, asked if given is None else given)]
        self.ioctl(pid, fd, VID_HEAP, put(184, *common), put(184, *common, *changed), **more)

    def free(self, who: tuple[int, int, int], handle: int, status: int = 0, **more: Any) -> None:
        pid, fd, client = who
        common = [(0, 4, client), (8, 4, handle)]
        self.ioctl(pid, fd, FREE, put(16, *common), put(16, *common, (12, 4, status)), **more)

    def heap_free(self, who: tuple[int, int, int], handle: int, **more: Any) -> None:
        pid, fd, client = who
        before = put(184, (0, 4, client), (8, 4, 3), (44, 4, handle), (48, 4, 1))
        self.ioctl(pid, fd, VID_HEAP, before, **more)

    def dup(
        self,
        who: tuple[int, int, int],
        parent: int,
        handle: int,
        source: tuple[int, int],
        *,
        chosen: int = 0,
        status: int = 0,
        **more: Any,
    ) -> None:
        pid, fd, client = who
        common = [(0, 4, client), (4, 4, parent), (8, 4, handle), (12, 4, source[0])]
        common += [(16, 4, source[1])]
        after = put(28, *common, (8, 4, chosen or handle), (24, 4, status))
        self.ioctl(pid, fd, DUP, put(28, *common), after, **more)

    def map_external(
        self, pid: int, fd: int, where: tuple[int, int], memory: tuple[int, int], *gpus: int,
        **more: Any,
    ) -> None:  # fmt: skip
        uuids = [(24 + 36 * n, 4, gpu) for n, gpu in enumerate(gpus)]
        before = put(
            1200,
            (0, 8, where[0]), (8, 8, where[1]), (1176, 8, len(gpus)),
            (1188, 4, memory[0]), (1192, 4, memory[1]), *uuids,
        )  # fmt: skip
        self.ioctl(pid, fd, UVM_MAP_EXTERNAL, before, **more)

    def unmap_external(
        self, pid: int, fd: int, where: tuple[int, int], gpu: int, **more: Any
    ) -> None:
        before = put(40, (0, 8, where[0]), (8, 8, where[1]), (16, 4, gpu))
        self.ioctl(pid, fd, UVM_UNMAP_EXTERNAL, before, **more)

    def uvm_free(self, pid: int, fd: int, where: tuple[int, int], status: int = 0, **more) -> None:
        common = [(0, 8, where[0]), (8, 8, where[1])]
        self.ioctl(pid, fd, UVM_FREE, put(24, *common), put(24, *common, (16, 4, status)), **more)


A, B = 0xC1D00001, 0xC1D00002
DEV, SUB, MEM, MEM2, OTHER = 0x5C000001, 0x5C000002, 0x5C000010, 0x5C000011, 0x5C000020
SCENARIOS: dict[str, Callable[[], Writer]] = {}


def scenario(function: Callable[[], Writer]) -> Callable[[], Writer]:
    SCENARIOS[function.__name__] = function
    return function


def started(limit: int = 2**64 - 1) -> tuple[Writer, tuple[int, int, int]]:
    """A process 1 with nvidiactl at 3, client A, a device and its subdevice."""
    w, who = Writer(limit), (1, 3, A)
    w.open(1, 3)
    w.client(1, 3, A)
    w.alloc(who, A, DEV, DEVICE, put(56))
    w.alloc(who, DEV, SUB, SUBDEVICE, put(4))
    return w, who


@scenario
def closed_without_freeing() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.heap(who, DEV, MEM2, 2 * MiB, booked=2 * MiB)
    w.close(1, 3, booked=-6 * MiB)
    w.exit(1)
    return w


@scenario
def gpu_files_own_nothing() -> Writer:
    w, who = started()
    w.open(1, 4, "nvidia0")
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.close(1, 4)
    w.exit(1, booked=-4 * MiB)
    return w


@scenario
def two_files_of_one_process() -> Writer:
    w, who = started()
    w.open(1, 5)
    w.client(1, 5, B)
    w.alloc((1, 5, B), B, DEV, DEVICE, put(56))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.memory((1, 5, B), DEV, MEM, 2 * MiB, booked=2 * MiB)
    w.close(1, 3, booked=-4 * MiB)
    w.close(1, 5, booked=-2 * MiB)
    return w


@scenario
def two_clients_of_one_file() -> Writer:
    w, who = started()
    w.client(1, 3, B)
    w.alloc((1, 3, B), B, DEV, DEVICE, put(56))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.memory((1, 3, B), DEV, MEM, 2 * MiB, booked=2 * MiB)
    w.close(1, 3, booked=-6 * MiB)
    return w


@scenario
def descriptor_duplicated() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.dup_fd(1, 3, 9)
    w.close(1, 3)
    w.heap((1, 9, A), DEV, MEM2, 2 * MiB, booked=2 * MiB)
    w.close(1, 9, booked=-6 * MiB)
    return w


@scenario
def inherited_by_a_child() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.fork(2, 1)
    w.client(2, 3, B)
    w.alloc((2, 3, B), B, DEV, DEVICE, put(56))
    w.memory((2, 3, B), DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.exit(1)
    w.free((2, 3, A), MEM, booked=-4 * MiB)
    w.exit(2, booked=-8 * MiB)
    return w


@scenario
def freed_twice() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.memory(who, DEV, MEM2, 2 * MiB, booked=2 * MiB)
    w.free(who, MEM, booked=-4 * MiB)
    w.free(who, MEM)
    w.heap_free(who, MEM)
    w.free(who, OTHER)
    w.heap_free(who, MEM2, booked=-2 * MiB)
    w.exit(1)
    return w


@scenario
def free_refused_by_the_driver() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.free(who, MEM, status=INVALID_OBJECT)
    w.exit(1, booked=-4 * MiB)
    return w


@scenario
def same_handle_in_two_clients() -> Writer:
    w, who = started()
    other = (1, 3, B)
    w.client(1, 3, B)
    w.alloc(other, B, DEV, DEVICE, put(56))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.memory(other, DEV, MEM, 2 * MiB, booked=2 * MiB)
    w.free(other, MEM, booked=-2 * MiB)
    w.free(who, MEM, booked=-4 * MiB)
    w.exit(1)
    return w


@scenario
def parent_freed() -> Writer:
    w, who = started()
    w.memory(who, SUB, MEM, 4 * MiB, booked=4 * MiB)
    w.memory(who, DEV, MEM2, 2 * MiB, booked=2 * MiB)
    w.free(who, SUB, booked=-4 * MiB)
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.free(who, DEV, booked=-10 * MiB)
    w.exit(1)
    return w


@scenario
def client_freed() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.free(who, A, booked=-4 * MiB)
    w.free(who, MEM)
    w.close(1, 3)
    return w


@scenario
def memory_duplicated() -> Writer:
    w, who = started()
    other = (1, 3, B)
    w.client(1, 3, B)
    w.alloc(other, B, DEV, DEVICE, put(56))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.dup(other, DEV, OTHER, (A, MEM))
    w.dup(other, DEV, 0, (B, OTHER), chosen=MEM2)
    w.free(who, MEM)
    w.free(other, MEM2)
    w.free(other, MEM2)
    w.free(other, OTHER, booked=-4 * MiB)
    w.exit(1)
    return w


@scenario
def duplicate_outlives_the_client() -> Writer:
    w, who = started()
    w.open(2, 3)
    w.client(2, 3, B)
    w.alloc((2, 3, B), B, DEV, DEVICE, put(56))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.dup((2, 3, B), DEV, MEM2, (A, MEM))
    w.exit(1)
    w.exit(2, booked=-4 * MiB)
    return w


@scenario
def duplicate_refused_by_the_driver() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.dup(who, DEV, MEM2, (A, MEM), status=INVALID_OBJECT)
    w.dup(who, DEV, MEM2, (A, OTHER), status=INVALID_OBJECT)
    w.free(who, MEM, booked=-4 * MiB)
    w.exit(1)
    return w


@scenario
def driver_chooses_the_handle() -> Writer:
    w, who = started()
    w.heap(who, DEV, MEM, 4 * MiB, flags=0, chosen=OTHER, booked=4 * MiB)
    w.memory(who, DEV, 0, 2 * MiB, chosen=MEM2, booked=2 * MiB)
    w.free(who, MEM)
    w.free(who, OTHER, booked=-4 * MiB)
    w.free(who, MEM2, booked=-2 * MiB)
    w.exit(1)
    return w


@scenario
def handle_used_again() -> Writer:
    """The driver took the handle once more, so what it named before is gone."""
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.memory(who, DEV, MEM, 2 * MiB, booked=-2 * MiB)
    w.memory(who, DEV, MEM, 8 * MiB, booked=6 * MiB)
    w.memory(who, DEV, MEM, 16 * MiB, status=INVALID_OBJECT)
    w.free(who, MEM, booked=-8 * MiB)
    w.exit(1)
    return w


@scenario
def client_handle_used_again() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.open(1, 4)
    w.client(1, 4, A, booked=-4 * MiB)
    w.memory((1, 4, A), A, MEM, 2 * MiB, booked=2 * MiB)
    w.close(1, 3)
    w.close(1, 4, booked=-2 * MiB)
    return w


CHANNEL_SIZE = 360


def channel(w: Writer, who: tuple[int, int, int], handle: int, **needs: int) -> None:
    """Under a channel group; hContextShare@24 hVASpace@28 hUserdMemory@32."""
    params = put(
        CHANNEL_SIZE,
        (24, 4, needs.get("ctxshare", 0)),
        (28, 4, needs.get("vaspace", 0)),
        (32, 4, needs.get("userd", 0)),
    )
    w.alloc(who, needs.get("group", DEV), handle, CHANNEL, params, rights=True)


@scenario
def channel_keeps_the_memory_of_its_userd() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    channel(w, who, OTHER, userd=MEM)
    w.free(who, MEM)
    w.free(who, OTHER, booked=-4 * MiB)
    w.exit(1)
    return w


@scenario
def channel_goes_with_its_va_space() -> Writer:
    w, who = started()
    w.alloc(who, DEV, 0x51, VASPACE)
    w.alloc(who, DEV, 0x52, TSG, put(20, (8, 4, 0x51)))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    w.memory(who, DEV, MEM2, 2 * MiB, booked=2 * MiB)
    channel(w, who, OTHER, group=DEV, vaspace=0x51, userd=MEM)
    channel(w, who, OTHER + 1, group=0x52, userd=MEM2)
    w.free(who, MEM)
    w.free(who, MEM2)
    w.free(who, 0x51, booked=-6 * MiB)
    w.exit(1)
    return w


@scenario
def channel_goes_with_its_context_share() -> Writer:
    w, who = started()
    w.alloc(who, DEV, 0x51, VASPACE)
    w.alloc(who, DEV, 0x52, TSG, put(20, (8, 4, 0x51)))
    w.alloc(who, 0x52, 0x53, CTXSHARE, put(12, (0, 4, 0x51)))
    w.memory(who, DEV, MEM, 4 * MiB, booked=4 * MiB)
    channel(w, who, OTHER, group=0x52, ctxshare=0x53, userd=MEM)
    w.free(who, MEM)
    w.free(who, 0x53, booked=-4 * MiB)
    w.exit(1)
    return w


@scenario
def refused_by_the_driver() -> Writer:
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, status=NO_MEMORY)
    w.memory(who, DEV, MEM, 4 * MiB, status=NO_MEMORY, rights=True)
    w.heap(who, DEV, MEM, 4 * MiB, status=NO_MEMORY)
    w.memory(who, DEV, MEM, 2 * MiB, booked=2 * MiB)
    w.exit(1, booked=-2 * MiB)
    return w


@scenario
def refused_at_the_limit() -> Writer:
    w, who = started(10 * MiB)
    w.memory(who, DEV, MEM, 6 * MiB, booked=6 * MiB)
    w.memory(who, DEV, MEM2, 6 * MiB, answer="refused")
    w.heap(who, DEV, MEM2, 4 * MiB + 1, answer="refused")
    w.heap(who, DEV, MEM2, 4 * MiB, booked=4 * MiB)
    w.memory(who, DEV, OTHER, 1, answer="refused")
    w.free(who, MEM, booked=-6 * MiB)
    w.memory(who, DEV, MEM, 6 * MiB, booked=6 * MiB)
    w.exit(1, booked=-10 * MiB)
    return w


@scenario
def sizes_that_overflow() -> Writer:
    w, who = started(8 * MiB)
    w.memory(who, DEV, MEM, 2 * MiB, booked=2 * MiB)
    for asked in (2**64 - 1, 2**64 - 2 * MiB, 2**64 - PAGE, 2**63):
        w.memory(who, DEV, MEM2, asked, answer="refused")
        w.heap(who, DEV, MEM2, asked, attr=PAGES_4K, answer="refused")
    w.exit(1, booked=-2 * MiB)
    return w


@scenario
def sizes_as_the_driver_rounds_them() -> Writer:
    w, who = started()
    w.heap(who, DEV, 0x61, 2 * MiB + 1, 2 * MiB + PAGE, booked=2 * MiB + PAGE)
    w.heap(who, DEV, 0x62, 1, 1 << 16, booked=1 << 16)
    w.memory(who, DEV, 0x63, 5000, 8192, attr=PAGES_4K, booked=8192)
    w.memory(who, DEV, 0x64, 100, 2 * MiB, attr=PAGES_HUGE, booked=2 * MiB)
    w.memory(who, DEV, 0x65, 100, 1 << 16, attr=PAGES_BIG, booked=1 << 16)
    w.memory(who, DEV, 0x66, 3 * MiB, 6 * MiB, booked=6 * MiB)
    w.exit(1, booked=-(10 * MiB + PAGE + 8192 + 2 * (1 << 16)))
    return w


@scenario
def reply_overwritten_by_the_tenant() -> Writer:
    """The buffer is the tenant's: a smaller size in it buys nothing."""
    w, who = started()
    w.memory(who, DEV, MEM, 4 * MiB, 0, booked=4 * MiB)
    w.heap(who, DEV, MEM2, 2 * MiB, PAGE, booked=2 * MiB)
    w.exit(1, booked=-6 * MiB)
    return w


@scenario
def not_device_memory() -> Writer:
    w, who = started(MiB)
    w.heap(who, DEV, MEM, 0x700000000, flags=HANDLE_PROVIDED | VIRTUAL_FLAG)
    w.heap(who, DEV, MEM2, 64 * MiB, attr=LOCATION_PCI)
    w.memory(who, DEV, 0x61, 64 * MiB, attr=LOCATION_PCI, class_=SYSTEM)
    w.memory(who, DEV, 0x62, 64 * MiB, flags=VIRTUAL_FLAG, class_=0x50A0)
    w.memory(who, DEV, 0x63, MiB, booked=MiB)
    w.free(who, MEM)
    w.exit(1, booked=-MiB)
    return w


@scenario
def classes_for_root_only() -> Writer:
    w, who = started()
    w.alloc(who, DEV, MEM, LOCAL_PHYSICAL, put(24, (0, 8, 4 * MiB)), answer="denied")
    w.alloc(who, DEV, MEM2, 0xF8, put(48, (8, 8, 4 * MiB)), answer="denied")
    w.alloc(who, DEV, OTHER, 0xABCD, answer="denied")
    w.exit(1)
    return w


def surface(function: int, *fields: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    return [(0, 4, A), (4, 4, DEV), (8, 4, function), (44, 4, MEM), (52, 4, 0x4000), *fields]


@scenario
def other_functions_that_allocate() -> Writer:
    """ALLOC_SIZE_RANGE has its size at 80; a tiled surface is height by pitch."""
    w, who = started()
    given = surface(14, (80, 8, 4 * MiB))
    w.ioctl(1, 3, VID_HEAP, put(184, *given), booked=4 * MiB)
    w.heap_free(who, MEM, booked=-4 * MiB)
    asked = surface(6, (56, 4, 1024), (60, 4, 8192))
    w.ioctl(1, 3, VID_HEAP, put(184, *asked), put(184, *asked, (88, 8, 8 * MiB)), booked=8 * MiB)
    w.exit(1, booked=-8 * MiB)
    return w


@scenario
def limit_lowered_below_use() -> Writer:
    w, who = started(16 * MiB)
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.memory(who, DEV, MEM2, 4 * MiB, booked=4 * MiB)
    w.limit(6 * MiB)
    w.memory(who, DEV, OTHER, 2 * MiB, answer="refused")
    w.free(who, MEM2, booked=-4 * MiB)
    w.memory(who, DEV, OTHER, 2 * MiB, answer="refused")
    w.limit(12 * MiB)
    w.memory(who, DEV, OTHER, 2 * MiB, booked=2 * MiB)
    w.exit(1, booked=-10 * MiB)
    return w


VA = (0x7000_0000_0000, 8 * MiB)


@scenario
def mapped_by_uvm() -> Writer:
    w, who = started()
    w.open(1, 4, "nvidia-uvm")
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.map_external(1, 4, VA, (A, MEM), GPU0)
    w.free(who, MEM)
    w.uvm_free(1, 4, (VA[0], 4 * MiB), status=0x1E)
    w.uvm_free(1, 4, VA, booked=-8 * MiB)
    w.exit(1)
    return w


@scenario
def mapped_by_uvm_until_its_file_closes() -> Writer:
    w, who = started()
    w.open(1, 4, "nvidia-uvm")
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.map_external(1, 4, VA, (A, MEM), GPU0)
    w.close(1, 3)
    w.close(1, 4, booked=-8 * MiB)
    return w


@scenario
def mapped_by_uvm_on_two_gpus() -> Writer:
    w, who = started()
    w.open(1, 4, "nvidia-uvm")
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.map_external(1, 4, VA, (A, MEM), GPU0, GPU1)
    w.free(who, MEM)
    w.unmap_external(1, 4, VA, GPU1)
    w.unmap_external(1, 4, VA, GPU1)
    w.unmap_external(1, 4, VA, GPU0, booked=-8 * MiB)
    w.exit(1)
    return w


@scenario
def unmapped_from_uvm_in_part() -> Writer:
    """What is left of a mapping keeps all of its memory."""
    w, who = started()
    w.open(1, 4, "nvidia-uvm")
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.map_external(1, 4, VA, (A, MEM), GPU0)
    w.free(who, MEM)
    w.unmap_external(1, 4, (VA[0], 2 * MiB), GPU0)
    w.unmap_external(1, 4, (VA[0] + 2 * MiB, 6 * MiB), GPU0)
    w.uvm_free(1, 4, VA, booked=-8 * MiB)
    w.exit(1)
    return w


@scenario
def mapped_by_uvm_over_another_mapping() -> Writer:
    w, who = started()
    w.open(1, 4, "nvidia-uvm")
    w.memory(who, DEV, MEM, 8 * MiB, booked=8 * MiB)
    w.memory(who, DEV, MEM2, 4 * MiB, booked=4 * MiB)
    w.map_external(1, 4, VA, (A, MEM), GPU0)
    w.free(who, MEM)
    w.map_external(1, 4, VA, (A, MEM2), GPU0, booked=-8 * MiB)
    w.free(who, MEM2)
    w.exit(1, booked=-4 * MiB)
    return w


def written() -> dict[str, Stream]:
    return {name: function().stream for name, function in SCENARIOS.items()}
