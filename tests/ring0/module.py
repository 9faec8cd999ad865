# SPDX-License-Identifier: Apache-2.0
"""What vgpu.ko does with a call, in Python around the same C: decode, charge, forward, settle.

The driver is a recorded or written answer. Buffers only: contexts and channels take what a driver
takes for them, which a stream does not say.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

from ring0.books import Book, Ledger, Refused
from ring0.native import ffi, lib
from ring0.streams import Argument, Call, Stream

ALLOCATIONS = {
    lib.VGPU_RM_ALLOC,
    lib.VGPU_RM_ALLOC_MEMORY,
    lib.VGPU_RM_ALLOC_CTXDMA,
    lib.VGPU_RM_VID_HEAP_ALLOC,
}
FREES = {lib.VGPU_RM_FREE, lib.VGPU_RM_VID_HEAP_FREE}


class Mismatch(AssertionError):
    """A stream that books otherwise than its truth."""


@dataclass
class File:
    """An open file of a node; descriptors of several processes may be it."""

    name: int
    node: str
    descriptors: int = 1
    ranges: list[tuple[int, int, bytes, Any]] = field(default_factory=list)


class Module:
    def __init__(self, abi: str, limit: int) -> None:
        self.abi = lib.vgpu_rm_abi(abi.encode())
        assert self.abi, abi
        self.ledger = Ledger(limit)
        # One bucket: the book must tell clients apart by more than their hash.
        self.book = Book(1)
        self.files: dict[tuple[int, int], File] = {}
        self._names = itertools.count()
        self._ranges: dict[int, Any] = {}
        self._mapped: dict[int, Any] = {}

    # Files: the last descriptor of a file takes along what was made through it.

    def open(self, call: Call) -> None:
        self.files[call.pid, call.fd] = File(next(self._names), call.text)

    def dup(self, call: Call) -> None:
        file = self.files[call.pid, call.fd]
        file.descriptors += 1
        self.files[call.pid, int(call.text)] = file

    def close(self, call: Call) -> None:
        file = self.files.pop((call.pid, call.fd), None)
        if file is not None:
            self._put(file)

    def _put(self, file: File) -> None:
        file.descriptors -= 1
        if file.descriptors == 0:
            if file.name in self._ranges:
                self._unmap(lib.vgpu_ranges_take_all(self._ranges.pop(file.name)))
            self.book.drop(file.name)

    def fork(self, call: Call) -> None:
        for (pid, fd), file in list(self.files.items()):
            if pid == call.fd:
                file.descriptors += 1
                self.files[call.pid, fd] = file

    def exit(self, call: Call) -> None:
        for key in [key for key in self.files if key[0] == call.pid]:
            self._put(self.files.pop(key))

    def limit(self, call: Call) -> None:
        lib.vgpu_ledger_set_max(self.ledger.c, int(call.text), True)

    # Requests.

    def ioctl(self, call: Call) -> str:
        """What becomes of the call, in the words of ring0.streams."""
        file = self.files[call.pid, call.fd]
        assert call.outer is not None
        if file.node == "nvidia-uvm":
            return self.uvm(file, call.nr, call.outer)
        req = ffi.new("struct vgpu_rm_req *")
        before, after = call.outer.before, call.outer.after
        lib.vgpu_rm_decode(self.abi, file.node == "nvidiactl", call.nr, before, len(before), req)
        inner = call.inner if req.ptr_size else None
        if req.ptr_size and inner is None:
            raise Mismatch(f"the inner argument of call {call.t} is not in the stream")
        if inner is not None:
            assert len(inner.before) == req.ptr_size
            lib.vgpu_rm_decode_inner(req, inner.before, len(inner.before))
        if req.verdict != lib.VGPU_RM_FORWARD:
            return "denied"

        charge, shared = ffi.NULL, ffi.NULL
        if req.takes == lib.VGPU_TAKES_BUFFER:
            try:
                charge = self.book.charge(self.ledger, req.bytes)
            except Refused:
                return "refused"
        elif req.op == lib.VGPU_RM_DUP:
            source = self.book.find(req.src_client, req.src_object)
            if source and source.charge:
                shared = self.book.get(source.charge)

        result = ffi.new("struct vgpu_rm_result *")
        lib.vgpu_rm_reply(
            req,
            after,
            len(after),
            inner.after if inner else ffi.NULL,
            len(inner.after) if inner else 0,
            result,
        )
        self.settle(file, call.pid, req, result, charge, shared)
        return "forwarded"

    def settle(self, file: File, pid: int, req: Any, result: Any, charge: Any, shared: Any) -> None:
        held = charge or shared
        if result.status != lib.VGPU_NV_OK:
            if held:
                self.book.put(held)
        elif req.op == lib.VGPU_RM_ALLOC and req.class_kind == lib.VGPU_CLASS_CLIENT:
            self.book.client(result.object, file.name, pid)
        elif req.op in ALLOCATIONS or req.op == lib.VGPU_RM_DUP:
            if charge:
                lib.vgpu_charge_settle(charge, result.bytes)
            needs = [(req.deps[i], req.holds >> i & 1) for i in range(req.nr_deps)]
            self.book.insert(
                req.client,
                req.parent,
                result.object,
                held,
                class_=getattr(req, "class"),
                deps=tuple(handle for handle, holds in needs if not holds),
                holds=tuple(handle for handle, holds in needs if holds),
            )
        elif req.op in FREES:
            self.book.remove(req.client, req.object)

    def status(self, call: Call) -> int | None:
        """The RM status that the driver answered an escape with."""
        if call.outer is None:
            return None
        req, result = ffi.new("struct vgpu_rm_req *"), ffi.new("struct vgpu_rm_result *")
        after = call.outer.after
        lib.vgpu_rm_decode(self.abi, True, call.nr, after, len(after), req)
        lib.vgpu_rm_reply(req, after, len(after), ffi.NULL, 0, result)
        return int(result.status)

    def uvm(self, file: File, cmd: int, outer: Argument) -> str:
        req = ffi.new("struct vgpu_uvm_req *")
        before, after = outer.before, outer.after
        lib.vgpu_uvm_decode(self.abi, cmd, before, len(before), req)
        status = ffi.new("u64 *")
        lib.vgpu_rm_get(req.row, lib.VGPU_F_STATUS, 0, after, len(after), status)
        if req.verdict != lib.VGPU_RM_FORWARD:
            return "denied"
        if status[0] != lib.VGPU_NV_OK:
            return "forwarded"
        if file.name not in self._ranges:
            self._ranges[file.name] = ffi.new("struct vgpu_ranges *")
            lib.vgpu_ranges_init(self._ranges[file.name], 0x5EED)
        ranges = self._ranges[file.name]
        tags = []
        for i in range(req.nr_uuids):
            at = req.uuid + i * req.uuid_stride
            tags.append(int.from_bytes(before[at : at + 8], "little") | 1)
        if req.op == lib.VGPU_UVM_MAP_EXTERNAL:
            memory = self.book.find(req.client, req.object)
            for tag in tags:
                self._unmap(lib.vgpu_ranges_take(ranges, req.base, req.length, tag))
                self._map(ranges, req, tag, memory)
        elif req.op == lib.VGPU_UVM_UNMAP_EXTERNAL:
            self._unmap(lib.vgpu_ranges_take(ranges, req.base, req.length, tags[0]))
        elif req.op == lib.VGPU_UVM_FREE:
            self._unmap(lib.vgpu_ranges_take(ranges, req.base, req.length, 0))
        return "forwarded"

    def _map(self, ranges: Any, req: Any, tag: int, memory: Any) -> None:
        new = ffi.new("struct vgpu_range *")
        new.base, new.length, new.tag = req.base, req.length, tag
        if memory and memory.charge:
            new.charge = self.book.get(memory.charge)
        assert lib.vgpu_ranges_add(ranges, new) == 0
        self._mapped[int(ffi.cast("uintptr_t", new))] = new

    def _unmap(self, gone: Any) -> None:
        while gone:
            following = gone.gone
            if gone.charge:
                self.book.forget(gone.charge)
            del self._mapped[int(ffi.cast("uintptr_t", gone))]
            gone = following

    def empty(self) -> bool:
        return not (self.ledger.used or self.book.objects or self.book.charges or self._mapped)


def replay(stream: Stream) -> Module:
    """Plays a stream and compares the ledger with its truth after every call."""
    module = Module(stream.abi, stream.limit)
    expected = 0
    for call in stream.calls:
        if call.op == "ioctl":
            answer = module.ioctl(call)
            if answer != call.answer:
                raise Mismatch(f"call {call.t} is {answer}")
        else:
            getattr(module, call.op)(call)
        expected += call.booked
        if module.ledger.used != expected:
            raise Mismatch(f"call {call.t}: {module.ledger.used} booked, {expected} in use")
        module.ledger.check()
    return module
