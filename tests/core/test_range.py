# SPDX-License-Identifier: Apache-2.0
"""The ranges of a UVM file against a list."""

from hypothesis import given
from hypothesis import strategies as st
from ring0.books import Book, Ledger
from ring0.native import EVER, MANAGED, ffi, lib

BASE = st.one_of(st.integers(0, 40), st.integers(EVER - 40, EVER))
LENGTH = st.one_of(st.integers(0, 12), st.sampled_from([EVER, EVER - 3, 2**63]))
TAG = st.integers(0, 2)


class Ranges:
    def __init__(self, seed: int) -> None:
        self.c = ffi.new("struct vgpu_ranges *")
        lib.vgpu_ranges_init(self.c, seed)
        self.live: dict[int, object] = {}

    def add(self, base: int, length: int, tag: int, charge: object = ffi.NULL) -> bool:
        new = ffi.new("struct vgpu_range *")
        new.base, new.length, new.tag, new.charge = base, length, tag, charge
        if lib.vgpu_ranges_add(self.c, new):
            return False
        self.live[int(ffi.cast("uintptr_t", new))] = new
        return True

    def free(self, gone: object, book: Book) -> list[tuple[int, int, int]]:
        found = []
        while gone:
            following = gone.gone
            found.append((gone.base, gone.length, gone.tag))
            if gone.charge:
                book.forget(gone.charge)
            del self.live[int(ffi.cast("uintptr_t", gone))]
            gone = following
        return sorted(found)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.booleans(), BASE, LENGTH, TAG), max_size=80),
)
def test_any_order_agrees_with_a_list(seed: int, steps: list[tuple[bool, int, int, int]]) -> None:
    ranges, book, ledger = Ranges(seed), Book(), Ledger()
    live: list[tuple[int, int, int]] = []
    for adding, base, length, tag in steps:
        if adding:
            fits = length > 0 and base + length - 1 <= EVER
            charge = book.charge(ledger, 1, MANAGED)
            assert ranges.add(base, length, tag, charge) == fits
            if fits:
                live.append((base, length, tag))
            else:
                book.put(charge)
        else:
            covered = [
                (b, n, t)
                for b, n, t in live
                if base <= b and b + n <= min(base + length, EVER + 1) and tag in (0, t)
            ]
            gone = ranges.free(lib.vgpu_ranges_take(ranges.c, base, length, tag), book)
            assert gone == sorted(covered)
            for each in covered:
                live.remove(each)
        assert ranges.c.count == len(live) == len(ranges.live) == ledger.used
    assert ranges.free(lib.vgpu_ranges_take_all(ranges.c), book) == sorted(live)
    assert ledger.used == book.charges == ranges.c.count == 0


def depth(root: object) -> int:
    """By levels, since a broken tree is deeper than Python's stack."""
    deep, level = 0, [root] if root else []
    while level:
        deep += 1
        level = [side for node in level for side in (node.left, node.right) if side]
    return deep


def test_ordered_addresses_do_not_unbalance_the_tree() -> None:
    ranges = Ranges(0x5EED)
    for n in range(20_000):
        assert ranges.add(n * 4096, 4096, 0)
    assert depth(ranges.c.root) < 60
    assert len(ranges.free(lib.vgpu_ranges_take(ranges.c, 0, 4096 * 10_000, 0), Book())) == 10_000


def test_a_mapping_keeps_memory_after_its_object_was_freed() -> None:
    ranges, book, ledger = Ranges(1), Book(), Ledger(100)
    book.client(1, "file")
    charge = book.charge(ledger, 60)
    book.insert(1, 1, 2, charge)
    ranges.add(0x1000, 0x2000, 7, book.get(charge))
    book.remove(1, 2)
    assert ledger.used == 60
    assert not lib.vgpu_ranges_take(ranges.c, 0x1000, 0x1000, 0)
    assert ledger.used == 60
    assert len(ranges.free(lib.vgpu_ranges_take(ranges.c, 0x1000, 0x2000, 7), book)) == 1
    assert ledger.used == book.charges == 0
