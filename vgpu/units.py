# SPDX-License-Identifier: Apache-2.0
"""Sizes as people write them, and bytes: the one place that knows both."""

import re

from vgpu.errors import UsageError

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_BY_CASE = {name.lower(): factor for name, factor in _UNITS.items()}
_SIZE = re.compile(r"(\d{1,19})(?:\.(\d{1,19}))? ?([a-z]+)", re.ASCII | re.IGNORECASE)
_MAX = (1 << 63) - 1


def parse_size(text: str) -> int:
    """Bytes of "4GiB". A unit is asked for, since a bare number would mean bytes to some and MiB
    to others; decimal units (GB) are refused, since the tools of this field print binary ones
    under that name."""
    match = _SIZE.fullmatch(text.strip())
    factor = _BY_CASE.get(match[3].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(
            f"{text!r} is not a size", "write a number and KiB, MiB or GiB: 4GiB, 512MiB"
        )
    decimals = match[2] or ""
    scale: int = 10 ** len(decimals)
    size, rest = divmod(int(match[1] + decimals) * factor, scale)
    if rest:
        raise UsageError(f"{text!r} is not a whole number of bytes", "use a smaller unit")
    if size == 0:
        raise UsageError(f"{text!r} is no memory at all", "ask for at least 1MiB")
    if size > _MAX:
        raise UsageError(f"{text!r} is more than any GPU has", "ask for less")
    return size


def format_size(size: int) -> str:
    """Binary units, three figures at most after the point: "4 GiB", "1.5 GiB", "0 B"."""
    for name in ("TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[name]:
            return f"{size / _UNITS[name]:.3f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{size} B"
