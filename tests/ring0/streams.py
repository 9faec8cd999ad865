# SPDX-License-Identifier: Apache-2.0
"""Streams of calls with what they book: tests/data/streams, and streams written as text in tests.

    # comment                 to the end of the line
    abi VERSION               layouts in use
    limit BYTES               of the ledger; none: no limit
    T PID open FD NODE        T counts the calls of the whole stream, PID is any number
    T PID dup FD NEW
    T PID close FD
    T PID fork PARENT
    T PID exit
    T PID FD NR SIZE IN [OUT [INNER_SIZE IN [OUT]]]    an ioctl
    booked BYTES              what the call before it adds to the memory in use, or gives back
    refused                   the call before it is answered NO_MEMORY by us and not forwarded
    denied                    the same, for what a tenant may not ask

Blobs are hex without trailing zeros; ~N~ stands for N zero bytes, - for nothing but zeros. OUT is a
blob, = (the default) for unchanged, or +OFFSET:HEX for each place that the driver wrote to.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RECORDED = Path(__file__).resolve().parent.parent / "data/streams"


@dataclass
class Argument:
    before: bytes
    after: bytes


@dataclass
class Call:
    t: int
    pid: int
    op: str
    fd: int = 0
    nr: int = 0
    text: str = ""
    outer: Argument | None = None
    inner: Argument | None = None
    booked: int = 0
    answer: str = "forwarded"


@dataclass
class Stream:
    abi: str = "535.309.01"
    limit: int = 2**64 - 1
    calls: list[Call] = field(default_factory=list)


def blob(text: str, size: int) -> bytes:
    zeros = re.sub(r"~(\d+)~", lambda run: "00" * int(run[1]), text.removeprefix("-"))
    data = bytes.fromhex(zeros)
    assert len(data) <= size, (text, size)
    return data.ljust(size, b"\0")


def argument(size: int, before: str, after: str) -> Argument:
    given = blob(before, size)
    if after == "=":
        return Argument(given, given)
    if not after.startswith("+"):
        return Argument(given, blob(after, size))
    written = bytearray(given)
    for change in after[1:].split("+"):
        at, data = change.split(":")
        written[int(at) : int(at) + len(data) // 2] = bytes.fromhex(data)
    assert len(written) == size
    return Argument(given, bytes(written))


def ioctl(t: int, pid: int, words: list[str]) -> Call:
    fd, nr, size, before, *rest = words
    outer = argument(int(size, 0), before, rest[0] if rest else "=")
    inner = None
    if len(rest) > 1:
        inner = argument(int(rest[1], 0), rest[2], rest[3] if len(rest) > 3 else "=")
    return Call(t, pid, "ioctl", int(fd), int(nr, 0), outer=outer, inner=inner)


def calls(text: str, stream: Stream) -> Iterator[Call]:
    call = None
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        match words:
            case []:
                continue
            case ["abi", version]:
                stream.abi = version
            case ["limit", size]:
                stream.limit = int(size, 0)
            case ["booked", size]:
                assert call is not None
                call.booked = int(size, 0)
            case ["refused" | "denied" as answer]:
                assert call is not None
                call.answer = answer
            case [t, pid, op, *rest] if op.isalpha():
                number = int(rest[0]) if rest else 0
                call = Call(int(t), int(pid), op, number, text=rest[1] if rest[1:] else "")
                yield call
            case [t, pid, *rest]:
                call = ioctl(int(t), int(pid), rest)
                yield call


def parse(text: str) -> Stream:
    stream = Stream()
    stream.calls = list(calls(text, stream))
    return stream


def recorded() -> dict[str, Stream]:
    return {path.stem: parse(path.read_text()) for path in sorted(RECORDED.glob("*.txt"))}
