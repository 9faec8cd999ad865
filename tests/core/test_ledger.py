# SPDX-License-Identifier: Apache-2.0
"""The ledger against a ten-line oracle that has Python's unbounded integers."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring0.books import Ledger
from ring0.native import BUFFERS, EVER, KINDS, MANAGED, lib

SIZES = st.one_of(
    st.integers(0, 64),
    st.integers(0, EVER),
    st.sampled_from([0, 1, 4096, 2**32 - 1, 2**32, 2**63 - 1, 2**63, EVER - 1, EVER]),
)
KIND = st.integers(0, KINDS)


class Oracle:
    def __init__(self, maximum: int) -> None:
        self.max, self.peak, self.refusals, self.kind = maximum, 0, 0, [0] * KINDS

    @property
    def cur(self) -> int:
        return sum(self.kind)

    def add(self, kind: int, size: int) -> None:
        self.kind[kind] += size
        self.peak = max(self.peak, self.cur)

    def try_charge(self, kind: int, size: int) -> int:
        if kind >= KINDS:
            return -errno.EINVAL
        if size > max(self.max - self.cur, 0):
            self.refusals += 1
            return -errno.ENOMEM
        self.add(kind, size)
        return 0

    def uncharge(self, kind: int, size: int) -> int:
        if kind >= KINDS or size > self.kind[kind]:
            return -errno.ERANGE
        self.kind[kind] -= size
        return 0

    def settle(self, kind: int, charged: int, real: int) -> int:
        if kind >= KINDS or charged > self.kind[kind] or self.cur + real - charged > EVER:
            return -errno.ERANGE
        self.add(kind, real - charged)
        return 0

    def set_max(self, maximum: int, force: bool) -> int:
        if maximum < self.cur and not force:
            return -errno.EBUSY
        self.max = maximum
        return 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("try_charge"), KIND, SIZES),
        st.tuples(st.just("uncharge"), KIND, SIZES),
        st.tuples(st.just("settle"), KIND, SIZES, SIZES),
        st.tuples(st.just("set_max"), SIZES, st.booleans()),
    ),
    max_size=60,
)


@given(SIZES, STEPS)
def test_any_order_agrees_with_the_oracle(maximum: int, steps: list[tuple]) -> None:
    ledger, oracle = Ledger(maximum), Oracle(maximum)
    for name, *args in steps:
        got = getattr(lib, f"vgpu_ledger_{name}")(ledger.c, *args)
        assert got == getattr(oracle, name)(*args)
        assert list(ledger.c.kind) == oracle.kind
        for field in ("cur", "max", "peak", "refusals"):
            assert getattr(ledger.c, field) == getattr(oracle, field)
        assert lib.vgpu_ledger_room(ledger.c) == max(oracle.max - oracle.cur, 0)
        ledger.check()


@given(SIZES, st.lists(st.tuples(st.booleans(), SIZES), max_size=60))
def test_charges_alone_never_pass_the_limit(maximum: int, steps: list[tuple[bool, int]]) -> None:
    ledger = Ledger(maximum)
    held = []
    for charging, size in steps:
        if charging and lib.vgpu_ledger_try_charge(ledger.c, BUFFERS, size) == 0:
            held.append(size)
        elif not charging and held:
            assert lib.vgpu_ledger_uncharge(ledger.c, BUFFERS, held.pop()) == 0
        assert sum(held) == ledger.used <= maximum
        assert ledger.c.peak <= maximum


def test_what_the_driver_gave_beyond_the_limit_is_booked_and_stops_further_charges() -> None:
    ledger = Ledger(100)
    assert lib.vgpu_ledger_try_charge(ledger.c, BUFFERS, 90) == 0
    assert lib.vgpu_ledger_settle(ledger.c, BUFFERS, 90, 130) == 0
    assert ledger.used == 130
    assert lib.vgpu_ledger_try_charge(ledger.c, MANAGED, 1) == -errno.ENOMEM
    assert lib.vgpu_ledger_uncharge(ledger.c, BUFFERS, 130) == 0
    assert ledger.used == 0
    assert ledger.c.peak == 130


@pytest.mark.parametrize("kind", [KINDS, KINDS + 1, 2**32 - 1])
def test_an_unknown_kind_changes_nothing(kind: int) -> None:
    ledger = Ledger(100)
    assert lib.vgpu_ledger_try_charge(ledger.c, kind, 1) == -errno.EINVAL
    assert lib.vgpu_ledger_uncharge(ledger.c, kind, 0) == -errno.ERANGE
    assert lib.vgpu_ledger_settle(ledger.c, kind, 0, 1) == -errno.ERANGE
    assert ledger.used == 0
    assert ledger.c.refusals == 0
