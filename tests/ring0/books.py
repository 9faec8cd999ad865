# SPDX-License-Identifier: Apache-2.0
"""The caller of kmod/core: owns the memory and frees what the book hands back."""

from collections.abc import Iterator
from typing import Any

from ring0.native import BUFFERS, EVER, KINDS, NO_SLICE, ffi, lib


class Refused(Exception):
    pass


class Ledger:
    def __init__(self, maximum: int = EVER) -> None:
        self.c = ffi.new("struct vgpu_ledger *")
        lib.vgpu_ledger_init(self.c, maximum)

    @property
    def used(self) -> int:
        return int(self.c.cur)

    def check(self) -> None:
        assert self.c.cur == sum(self.c.kind[i] for i in range(KINDS))
        assert self.c.cur <= self.c.peak


class Book:
    """A book and everything in it. What is freed here must have come back from the C, once."""

    def __init__(self, buckets: int = 8, seed: int = 0x5EED) -> None:
        self.c = ffi.new("struct vgpu_book *")
        self._buckets = ffi.new("struct vgpu_object *[]", buckets)
        lib.vgpu_book_init(self.c, self._buckets, buckets, seed)
        self._objects: dict[int, list[Any]] = {}
        self._charges: dict[int, Any] = {}
        self.owners: dict[Any, Any] = {}
        self._processes: dict[Any, Any] = {}

    def rehash(self, buckets: int) -> None:
        new = ffi.new("struct vgpu_object *[]", buckets)
        assert lib.vgpu_book_rehash(self.c, new, buckets) == self._buckets
        self._buckets = new

    def owner(self, name: Any) -> Any:
        if name not in self.owners:
            self.owners[name] = ffi.new("struct vgpu_owner *")
        return self.owners[name]

    def process(self, name: Any) -> Any:
        if name not in self._processes:
            self._processes[name] = ffi.new("char *")
        return ffi.cast("void *", self._processes[name])

    def client(self, handle: int, owner: Any, process: Any = 0) -> list[int]:
        client = ffi.new("struct vgpu_client *")
        gone = lib.vgpu_book_add_client(
            self.c, client, handle, self.owner(owner), self.process(process)
        )
        freed = self.free(gone)
        self._objects[int(ffi.cast("uintptr_t", ffi.addressof(client.root)))] = [client]
        return freed

    def charge(self, ledger: Ledger, size: int, kind: int = BUFFERS) -> Any:
        charge = ffi.new("struct vgpu_charge *")
        if lib.vgpu_charge_open(charge, ledger.c, kind, size):
            raise Refused(size)
        self._charges[int(ffi.cast("uintptr_t", charge))] = charge
        return charge

    def get(self, charge: Any) -> Any:
        lib.vgpu_charge_get(charge)
        return charge

    def put(self, charge: Any) -> None:
        if lib.vgpu_charge_put(charge):
            del self._charges[int(ffi.cast("uintptr_t", charge))]

    def forget(self, charge: Any) -> None:
        """Frees a charge whose last reference the C has put."""
        assert charge.refs == 0
        del self._charges[int(ffi.cast("uintptr_t", charge))]

    def insert(
        self,
        client: int,
        parent: int,
        handle: int,
        charge: Any = ffi.NULL,
        *,
        class_: int = 0,
        slice_: int = NO_SLICE,
        deps: tuple[int, ...] = (),
        holds: tuple[int, ...] = (),
    ) -> list[int]:
        obj = ffi.new("struct vgpu_object *")
        needs = ffi.new("struct vgpu_dep[]", len(deps) + len(holds))
        obj.handle, obj.slice = handle, slice_
        setattr(obj, "class", class_)
        obj.deps, obj.nr_deps = needs, len(deps) + len(holds)
        for dep, need in zip(needs, (*deps, *holds), strict=True):
            dep.handle = need
        for i in range(len(deps), obj.nr_deps):
            needs[i].holds = 1
        gone = ffi.new("struct vgpu_object **")
        if lib.vgpu_book_insert(self.c, obj, client, parent, charge, gone):
            raise KeyError(client)
        freed = self.free(gone[0])
        self._objects[int(ffi.cast("uintptr_t", obj))] = [obj, needs]
        return freed

    def remove(self, client: int, handle: int) -> list[int]:
        return self.free(lib.vgpu_book_remove(self.c, client, handle))

    def drop(self, owner: Any) -> list[int]:
        if owner not in self.owners:
            return []
        freed = self.free(lib.vgpu_book_drop_owner(self.c, self.owners[owner]))
        del self.owners[owner]
        return freed

    def drop_all(self) -> list[int]:
        return self.free(lib.vgpu_book_drop_all(self.c))

    def find(self, client: int, handle: int) -> Any:
        return lib.vgpu_book_find(self.c, client, handle)

    def usage(self, ledger: Ledger, process: Any = None, client: int = 0) -> list[int]:
        sums = ffi.new("u64[]", KINDS)
        who = ffi.NULL if process is None else self.process(process)
        lib.vgpu_book_usage(self.c, ledger.c, who, client, sums)
        return list(sums)

    def free(self, gone: Any) -> list[int]:
        """Frees a list that the book handed back, as the module does; returns the handles."""
        handles = []
        while gone:
            following = gone.gone
            handles.append(gone.handle)
            for charge in self._last(gone):
                self.forget(charge)
            del self._objects[int(ffi.cast("uintptr_t", gone))]
            gone = following
        return handles

    @staticmethod
    def _last(obj: Any) -> Iterator[Any]:
        if obj.charge:
            yield obj.charge
        for i in range(obj.nr_deps):
            if obj.deps[i].held:
                yield obj.deps[i].held

    @property
    def objects(self) -> int:
        assert len(self._objects) == self.c.objects
        return len(self._objects)

    @property
    def charges(self) -> int:
        return len(self._charges)
