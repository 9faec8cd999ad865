# SPDX-License-Identifier: Apache-2.0
"""Streams written by hand: what RM does that no recording shows."""

import pytest
from ring0.module import replay
from ring0.written import written

STREAMS = written()


@pytest.mark.parametrize("name", STREAMS)
def test_books_what_the_driver_books_and_ends_at_zero(name: str) -> None:
    assert replay(STREAMS[name]).empty()
