# SPDX-License-Identifier: Apache-2.0
"""The book against an oracle of dictionaries that searches everything each time."""

import time
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from ring0.books import Book, Ledger, Refused
from ring0.native import BUFFERS, CONTEXTS, EVER, KINDS, NO_SLICE, ffi, lib

Key = tuple[int, int]


@dataclass
class Thing:
    """An object of the oracle; a client is the object whose handle is its own."""

    parent: Key | None
    charge: int | None
    needs: set[Key] = field(default_factory=set)
    held: list[int] = field(default_factory=list)


class Oracle:
    def __init__(self) -> None:
        self.things: dict[Key, Thing] = {}
        self.owner: dict[int, int] = {}
        self.process: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.kinds: dict[int, int] = {}
        self.mapped: list[int] = []

    def holders(self, charge: int) -> int:
        own = sum(t.charge == charge for t in self.things.values())
        return (
            own
            + sum(t.held.count(charge) for t in self.things.values())
            + self.mapped.count(charge)
        )

    @property
    def used(self) -> int:
        return sum(size for charge, size in self.sizes.items() if self.holders(charge))

    def remove(self, key: Key) -> list[int]:
        gone = {key} & self.things.keys()
        while True:
            more = {k for k, t in self.things.items() if t.parent in gone or t.needs & gone} - gone
            if not more:
                break
            gone |= more
        for each in gone:
            del self.things[each]
            if each[0] == each[1]:
                del self.owner[each[0]]
        return sorted(handle for _, handle in gone)

    def usage(self, process: int | None, client: int = 0) -> list[int]:
        seen: set[int] = set()
        for (c, handle), thing in self.things.items():
            if c == handle or (process is not None and self.process[c] != process):
                continue
            if client and c != client:
                continue
            seen |= {*thing.held} | ({thing.charge} if thing.charge is not None else set())
        sums = [0] * KINDS
        for charge in seen:
            sums[self.kinds[charge]] += self.sizes[charge]
        return sums


CLIENT = st.integers(0xC1D00000, 0xC1D00003)
HANDLE = st.integers(1, 9)
OWNER = st.integers(0, 2)
PROCESS = st.integers(0, 1)
SIZE = st.one_of(st.integers(0, 300), st.sampled_from([EVER, EVER - 1, 2**63]))
HANDLES = st.lists(st.integers(0, 10), max_size=3).map(tuple)


class Machine(RuleBasedStateMachine):
    @initialize(maximum=st.sampled_from([0, 500, 1000, EVER]), seed=st.integers(0, 2**32 - 1))
    def begin(self, maximum: int, seed: int) -> None:
        self.ledger, self.book, self.oracle = Ledger(maximum), Book(4, seed), Oracle()
        self.charges: dict[int, object] = {}
        self.next = 0

    def charge(self, size: int, kind: int) -> int | None:
        """A fresh charge on both sides, or None when the ledger refuses it."""
        fits = size <= max(self.ledger.c.max - self.oracle.used, 0)
        try:
            self.charges[self.next] = self.book.charge(self.ledger, size, kind)
        except Refused:
            assert not fits
            return None
        assert fits
        self.oracle.sizes[self.next] = size
        self.oracle.kinds[self.next] = kind
        self.next += 1
        return self.next - 1

    @rule(client=CLIENT, owner=OWNER, process=PROCESS)
    def add_client(self, client: int, owner: int, process: int) -> None:
        gone = self.book.client(client, owner, process)
        assert sorted(gone) == self.oracle.remove((client, client))
        self.oracle.things[client, client] = Thing(None, None)
        self.oracle.owner[client], self.oracle.process[client] = owner, process

    def insert(self, client: int, parent: int, handle: int, charge: int | None, deps, holds):
        held = ffi.NULL if charge is None else self.charges[charge]
        if (client, client) not in self.oracle.things:
            with pytest.raises(KeyError):
                self.book.insert(client, parent, handle, held)
            if charge is not None:
                self.book.put(held)
            return
        gone = self.book.insert(client, parent, handle, held, deps=deps, holds=holds)
        assert sorted(gone) == self.oracle.remove((client, handle))
        things = self.oracle.things
        above = (client, parent) if (client, parent) in things else (client, client)
        known = [(client, d) for d in deps if d and (client, d) in things]
        needs = {key for key in known if key != (client, client)}
        keeps = [things[client, h] for h in holds if h and (client, h) in things]
        held_charges = [t.charge for t in keeps if t.charge is not None]
        things[client, handle] = Thing(above, charge, needs, held_charges)

    @rule(
        client=CLIENT,
        parent=HANDLE,
        handle=HANDLE,
        size=SIZE,
        kind=st.sampled_from([BUFFERS, CONTEXTS]),
        deps=HANDLES,
        holds=HANDLES,
    )
    def allocate(self, client, parent, handle, size, kind, deps, holds) -> None:
        charge = self.charge(size, kind)
        if charge is not None:
            self.insert(client, parent, handle, charge, deps, holds)

    @rule(client=CLIENT, parent=HANDLE, handle=HANDLE, deps=HANDLES)
    def make_without_memory(self, client, parent, handle, deps) -> None:
        self.insert(client, parent, handle, None, deps, ())

    @rule(size=SIZE)
    def refused_by_the_driver(self, size: int) -> None:
        charge = self.charge(size, BUFFERS)
        if charge is not None:
            self.book.put(self.charges[charge])

    @rule(size=st.integers(0, 300), real=st.integers(0, 300), client=CLIENT, handle=HANDLE)
    def settled(self, size: int, real: int, client: int, handle: int) -> None:
        charge = self.charge(size, BUFFERS)
        if charge is not None:
            assert lib.vgpu_charge_settle(self.charges[charge], real) == 0
            self.oracle.sizes[charge] = real
            self.insert(client, client, handle, charge, (), ())

    @rule(src=st.tuples(CLIENT, HANDLE), dst=st.tuples(CLIENT, HANDLE), parent=HANDLE)
    def duplicate(self, src: Key, dst: Key, parent: int) -> None:
        thing = self.oracle.things.get(src)
        if thing is None:
            assert not self.book.find(*src)
        elif thing.charge is not None:
            charge = self.book.find(*src).charge
            assert charge == self.charges[thing.charge]
            self.book.get(charge)
            self.insert(dst[0], parent, dst[1], thing.charge, (), ())

    @rule(src=st.tuples(CLIENT, HANDLE))
    def map_into_uvm(self, src: Key) -> None:
        thing = self.oracle.things.get(src)
        if thing is not None and thing.charge is not None:
            self.book.get(self.charges[thing.charge])
            self.oracle.mapped.append(thing.charge)

    @rule(data=st.data())
    def unmap_from_uvm(self, data: st.DataObject) -> None:
        if self.oracle.mapped:
            at = data.draw(st.integers(0, len(self.oracle.mapped) - 1))
            self.book.put(self.charges[self.oracle.mapped.pop(at)])

    @rule(client=CLIENT, handle=st.one_of(HANDLE, CLIENT))
    def free(self, client: int, handle: int) -> None:
        gone = self.book.remove(client, handle)
        assert sorted(gone) == self.oracle.remove((client, handle))

    @rule(owner=OWNER)
    def close(self, owner: int) -> None:
        mine = [c for c, o in self.oracle.owner.items() if o == owner]
        gone = [handle for c in mine for handle in self.oracle.remove((c, c))]
        assert sorted(self.book.drop(owner)) == sorted(gone)

    @rule(buckets=st.sampled_from([1, 2, 16, 256]))
    def rehash(self, buckets: int) -> None:
        self.book.rehash(buckets)

    @rule(maximum=SIZE, force=st.booleans())
    def resize(self, maximum: int, force: bool) -> None:
        used = self.ledger.used
        refused = lib.vgpu_ledger_set_max(self.ledger.c, maximum, force) != 0
        assert refused == (maximum < used and not force)

    @invariant()
    def agree(self) -> None:
        assert self.ledger.used == self.oracle.used
        self.ledger.check()
        assert self.book.objects == len(self.oracle.things)
        assert self.book.charges == sum(bool(self.oracle.holders(c)) for c in self.charges)
        for key, thing in self.oracle.things.items():
            obj = self.book.find(*key)
            assert obj
            assert bool(obj.parent) == (thing.parent is not None)
            if thing.parent is not None:
                assert (obj.client.root.handle, obj.parent.handle) == thing.parent
        for process in (None, 0, 1):
            assert self.book.usage(self.ledger, process) == self.oracle.usage(process)
        for client in self.oracle.owner:
            assert self.book.usage(self.ledger, None, client) == self.oracle.usage(None, client)

    def teardown(self) -> None:
        if hasattr(self, "book"):
            self.book.drop_all()
            while self.oracle.mapped:
                self.book.put(self.charges[self.oracle.mapped.pop()])
            assert self.ledger.used == 0
            assert self.book.objects == self.book.charges == 0


TestBook = Machine.TestCase
TestBook.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def filled(count: int, shape: str) -> tuple[Book, Ledger, float]:
    """A book of so many objects, and the seconds that removing them all takes."""
    book, ledger = Book(1 << 14), Ledger()
    book.client(1, "file")
    for n in range(2, count + 2):
        parent = {"chain": n - 1, "flat": 1, "deps": 1}[shape]
        deps = (n - 1,) if shape == "deps" and n > 2 else ()
        book.insert(1, parent, n, book.charge(ledger, 4096), deps=deps)
    before = time.process_time()
    gone = lib.vgpu_book_remove(book.c, 1, 2 if shape == "deps" else 1)
    seconds = time.process_time() - before
    book.free(gone)
    return book, ledger, seconds


@pytest.mark.parametrize("shape", ["chain", "flat", "deps"])
def test_removal_of_100000_objects_is_iterative_and_not_quadratic(shape: str) -> None:
    book, ledger, seconds = filled(100_000, shape)
    assert ledger.used == 0
    assert book.objects == (1 if shape == "deps" else 0)
    # A quadratic walk would touch 10^10 objects; this is some ten milliseconds.
    assert seconds < 1


def test_objects_take_over_the_slice_of_their_parent() -> None:
    book = Book()
    book.client(1, "file")
    book.insert(1, 1, 2, slice_=3)
    book.insert(1, 2, 4)
    book.insert(1, 1, 5)
    assert [book.find(1, h).slice for h in (2, 4, 5)] == [3, 3, NO_SLICE]


def test_classes_are_found_by_process_and_slice() -> None:
    book = Book()
    book.client(1, "file", "shell")
    book.insert(1, 1, 2, slice_=0, class_=0xC7C0)
    for process, slice_, class_, expected in [
        ("shell", 0, 0xC7C0, True),
        ("shell", 1, 0xC7C0, False),
        ("shell", 0, 0xC6C0, False),
        ("other", 0, 0xC7C0, False),
    ]:
        found = lib.vgpu_book_has_class(book.c, book.process(process), slice_, class_)
        assert found == expected
