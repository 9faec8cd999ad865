# SPDX-License-Identifier: Apache-2.0
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpu.errors import UsageError
from vgpu.units import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4 << 30),
        ("512MiB", 512 << 20),
        ("1.5 GiB", 3 << 29),
        ("1tib", 1 << 40),
        ("4096KiB", 4 << 20),
        ("1B", 1),
    ],
)
def test_parse(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", "4", "4G", "4GB", "-1GiB", "+1GiB", "0MiB", "0.3B", "1e9B", "GiB", "4GiB4GiB"),
        *(
            "9" * 5000 + "B",
            "9999999999GiB",
            "inf GiB",
            "nanGiB",
            "1_0GiB",
            "4GiB\n4GiB",
            "\u0664GiB",
        ),
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    assert caught.value.hint


@given(st.integers(1, (1 << 63) - 1))
def test_whole_numbers_of_bytes_survive(size: int) -> None:
    assert parse_size(f"{size}B") == size


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_an_error(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert 0 < parse_size(text) < 1 << 63


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (4 << 30, "4 GiB"),
        (3 << 29, "1.5 GiB"),
        ((4 << 30) + 1, "4 GiB"),
        (15 * (1 << 30) + (512 << 20), "15.5 GiB"),
        (80 << 40, "80 TiB"),
    ],
)
def test_format(size: int, text: str) -> None:
    assert format_size(size) == text
