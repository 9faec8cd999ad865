# SPDX-License-Identifier: Apache-2.0
"""Recorded streams of NVIDIA's clients: booked is what the driver booked, at the same calls."""

from dataclasses import replace

import pytest
from ring0.module import Module, replay
from ring0.native import EVER, lib
from ring0.streams import recorded

STREAMS = recorded()


def test_the_streams_are_there() -> None:
    assert len(STREAMS) == 24
    assert sum(any(call.booked for call in s.calls) for s in STREAMS.values()) == 17


@pytest.mark.parametrize("name", STREAMS)
def test_books_like_the_driver_and_ends_at_zero(name: str) -> None:
    assert replay(replace(STREAMS[name], limit=EVER)).empty()


@pytest.mark.parametrize("name", ["cuda_oom", "cuda_quota_alloc", "cuda_alloc8"])
def test_refuses_what_the_driver_refused_at_the_same_limit(name: str) -> None:
    stream = STREAMS[name]
    module = Module(stream.abi, stream.limit)
    refusals = 0
    for call in stream.calls:
        if module.status(call) == lib.VGPU_NV_ERR_NO_MEMORY:
            call.answer = "refused"
            refusals += 1
    assert (refusals > 0) == (name != "cuda_alloc8")
    assert replay(stream).ledger.c.refusals == refusals
