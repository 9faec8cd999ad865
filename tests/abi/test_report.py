# SPDX-License-Identifier: Apache-2.0
"""What a tenant is shown."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring0.native import ffi, lib

ABI = lib.vgpu_rm_abi(b"535.309.01")
GiB, KiB = 1 << 30, 1 << 10
NONE = 2**32 - 1


def control(cmd: int, size: int) -> Any:
    """The request of a control whose parameters have this size."""
    outer = struct.pack("<IIIIQII", 1, 2, cmd, 0, 0x1000, size, 0)
    req = ffi.new("struct vgpu_rm_req *")
    lib.vgpu_rm_decode(ABI, True, 0x2A, outer, len(outer), req)
    assert req.verdict == lib.VGPU_RM_FORWARD
    return req


def gpus(*rows: tuple[int, int, int]) -> Any:
    views = ffi.new("struct vgpu_gpu_view[]", len(rows))
    for view, (gpu_id, host, minor) in zip(views, rows, strict=True):
        view.gpu_id, view.host_minor, view.minor = gpu_id, host, minor
    return views


def pids(**bytes_of: int) -> Any:
    views = ffi.new("struct vgpu_pid_view[]", len(bytes_of))
    for view, (name, size) in zip(views, bytes_of.items(), strict=True):
        view.pid, view.bytes = int(name[1:]), size
    return views


def fb(values: dict[int, int], maximum: int, used: int, v2: bool = True) -> dict[int, int]:
    """FB_GET_INFO as a 16 GiB device answers, rewritten for a slice."""
    listed = b"".join(struct.pack("<II", index, value) for index, value in values.items())
    if v2:
        buf = ffi.new("u8[]", list(struct.pack("<I", len(values)) + listed.ljust(432, b"\0")))
        lib.vgpu_report_fb_info_v2(control(0x20801303, 436), buf, 436, maximum, used)
        listed = bytes(buf)[4 : 4 + 8 * len(values)]
    else:
        buf = ffi.new("u8[]", list(listed))
        lib.vgpu_report_fb_list(ABI, buf, len(listed), len(values), maximum, used)
        listed = bytes(buf)
    return dict(struct.iter_unpack("<II", listed))


REAL = {
    0x7: 16 * GiB // KiB, 0x8: 16 * GiB // KiB, 0x9: 15 * GiB // KiB, 0xA: 15 * GiB // KiB,
    0x10: GiB // KiB, 0x12: 9 * GiB // KiB, 0x16: 10 * GiB // KiB, 0x20: 16 * GiB // KiB,
    0x27: 64, 0x33: 0, 0x34: 0, 0x5: 256 << 10, 0x1D: 200 << 10, 0xB: 384, 0x11: 7,
}  # fmt: skip


@pytest.mark.parametrize("v2", [True, False])
def test_sizes_are_the_slice(v2: bool) -> None:
    shown = fb(REAL, 4 * GiB, GiB, v2)
    quota, left = 4 * GiB // KiB, 3 * GiB // KiB
    assert {i: shown[i] for i in (0x7, 0x8, 0x9, 0xA, 0x20)} == dict.fromkeys(
        (0x7, 0x8, 0x9, 0xA, 0x20), quota
    )
    assert (shown[0x16], shown[0x12]) == (left, left)
    assert (shown[0x10], shown[0x27], shown[0x33], shown[0x34]) == (0, 0, 0, 0)
    untouched = (0x5, 0x1D, 0xB, 0x11)
    assert {i: shown[i] for i in untouched} == {i: REAL[i] for i in untouched}


def test_the_three_clients_compute_the_slice() -> None:
    """NVML v1 and v2 and CUDA 535.309.01, by the formulas that were found out."""
    shown = {i: kib * KiB for i, kib in fb(REAL, 4 * GiB, GiB).items()}
    total, heap, free, tax = (shown[i] for i in (0x8, 0x9, 0x16, 0x10))
    assert (total, total - free) == (4 * GiB, GiB)
    assert (total - heap, heap - free) == (0, GiB)
    assert (heap + tax, free) == (4 * GiB, 3 * GiB)


def test_free_is_never_more_than_the_device_has() -> None:
    assert fb({0x16: 500, 0x12: 100}, 4 * GiB, 0) == {0x16: 500, 0x12: 100}


def test_a_slice_over_its_limit_has_nothing_free() -> None:
    assert fb({0x16: 500, 0x8: 1}, GiB, 2 * GiB) == {0x16: 0, 0x8: GiB // KiB}


def test_protected_memory_is_shown_where_there_is_any() -> None:
    assert fb({0x33: 900, 0x34: 9 << 30 >> 10}, GiB, 0) == {0x33: GiB // KiB, 0x34: GiB // KiB}


@given(st.binary(max_size=500), st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_random_lists(data: bytes, count: int, maximum: int) -> None:
    buf = ffi.new("u8[]", list(data))
    lib.vgpu_report_fb_list(ABI, buf, len(data), count, maximum, 0)
    assert bytes(buf)[len(data) // 8 * 8 :] == data[len(data) // 8 * 8 :]
    for cmd, size, name in (
        (0x20801303, 436, "fb_info_v2"),
        (0x2080018D, 3812, "pids"),
        (0x2080018E, 14408, "pid_info"),
        (0x201, 128, "ids"),
        (0x214, 256, "ids"),
    ):
        args = (maximum, 0) if name == "fb_info_v2" else (ffi.NULL, 0)
        getattr(lib, f"vgpu_report_{name}")(control(cmd, size), buf, len(data), *args)
    lib.vgpu_report_cards(ABI, buf, len(data), ffi.NULL, 0)


def test_heap_info() -> None:
    outer = bytearray(184)
    struct.pack_into("<I", outer, 8, 5)
    struct.pack_into("<QQ", outer, 24, 16 * GiB, 10 * GiB)
    struct.pack_into("<Q", outer, 56, 9 * GiB)
    buf = ffi.new("u8[]", list(outer))
    req = ffi.new("struct vgpu_rm_req *")
    lib.vgpu_rm_decode(ABI, True, 0x4A, buf, 184, req)
    assert req.op == lib.VGPU_RM_VID_HEAP_INFO
    lib.vgpu_report_heap_info(req, buf, 184, 4 * GiB, GiB)
    assert struct.unpack_from("<QQ", bytes(buf), 24) == (4 * GiB, 3 * GiB)
    assert struct.unpack_from("<Q", bytes(buf), 56) == (3 * GiB,)


def card(gpu_id: int, minor: int, valid: int = 1) -> bytes:
    data = bytearray(72)
    data[0] = valid
    struct.pack_into("<I", data, 16, gpu_id)
    struct.pack_into("<Q", data, 48, 256 << 20)
    struct.pack_into("<I", data, 56, minor)
    return bytes(data)


def test_only_granted_cards_with_the_tenants_minors() -> None:
    data = card(0x100, 0) + card(0x200, 1) + card(0, 0, 0) + card(0x300, 2) + bytes(72 * 28)
    buf = ffi.new("u8[]", list(data))
    found = ffi.new("u32 *")
    assert lib.vgpu_report_card_id(ABI, buf, len(data), 2, found)
    assert found[0] == 0x300
    assert not lib.vgpu_report_card_id(ABI, buf, len(data), 3, found)
    views = gpus((0x300, 2, 0), (0x200, 1, 1))
    assert lib.vgpu_report_cards(ABI, buf, len(data), views, 2) == 2
    assert bytes(buf) == (card(0x200, 1) + card(0x300, 0)).ljust(len(data), b"\0")


@pytest.mark.parametrize(("cmd", "size"), [(0x201, 128), (0x214, 256)])
def test_only_granted_ids(cmd: int, size: int) -> None:
    ids = [0x100, 0x200, 0x300, *[NONE] * 29]
    data = struct.pack("<32I", *ids) * (size // 128)
    buf = ffi.new("u8[]", list(data))
    lib.vgpu_report_ids(control(cmd, size), buf, size, gpus((0x300, 2, 0)), 1)
    assert bytes(buf) == struct.pack("<32I", 0x300, *[NONE] * 31) * (size // 128)


def test_no_id_is_granted_by_being_the_end_of_the_list() -> None:
    buf = ffi.new("u8[]", list(struct.pack("<32I", *[NONE] * 32)))
    lib.vgpu_report_ids(control(0x201, 128), buf, 128, gpus((NONE, 2, 0)), 1)
    assert bytes(buf) == b"\xff" * 128


@pytest.mark.parametrize(
    ("ids", "granted"),
    [([0x300], True), ([0x200, 0x300], True), ([0x100], False), ([0x300, 0x100], False)],
)
def test_foreign_gpus_cannot_be_attached(ids: list[int], granted: bool) -> None:
    listed = [*ids, *[NONE] * (32 - len(ids))]
    buf = ffi.new("u8[]", list(struct.pack("<33I", *listed, 0)))
    views = gpus((0x300, 2, 0), (0x200, 1, 1))
    req = control(0x215, 132)
    assert lib.vgpu_report_ids_granted(req, buf, 132, views, 2) == granted
    outer = ffi.new("u8[]", list(struct.pack(f"<{len(ids)}I", *ids)))
    attach = ffi.new("struct vgpu_rm_req *")
    lib.vgpu_rm_decode(ABI, True, 212, outer, 4 * len(ids), attach)
    assert attach.op == lib.VGPU_RM_ATTACH_GPUS
    assert lib.vgpu_report_ids_granted(attach, outer, 4 * len(ids), views, 2) == granted


def test_attach_all_means_the_tenants_own() -> None:
    buf = ffi.new("u8[]", list(struct.pack("<33I", 0xFFFF, *[NONE] * 31, 0)))
    views = gpus((0x300, 2, 0), (0x200, 1, 1))
    assert lib.vgpu_report_ids_granted(control(0x215, 132), buf, 132, views, 2)
    assert struct.unpack("<33I", bytes(buf)) == (0x300, 0x200, *[NONE] * 30, 0)


@pytest.mark.parametrize(("cmd", "size"), [(0x202, 40), (0x205, 32)])
def test_ids_asked_about_must_be_granted(cmd: int, size: int) -> None:
    for gpu_id, granted in ((0x300, True), (0x100, False)):
        buf = ffi.new("u8[]", list(struct.pack("<I", gpu_id).ljust(size, b"\0")))
        views = gpus((0x300, 2, 0))
        assert lib.vgpu_report_ids_granted(control(cmd, size), buf, size, views, 1) == granted


def test_only_the_tenants_processes() -> None:
    data = struct.pack("<III", 0, 0xC7C0, 4) + struct.pack("<4I", 10, 20, 30, 40)
    buf = ffi.new("u8[]", list(data.ljust(3812, b"\0")))
    lib.vgpu_report_pids(control(0x2080018D, 3812), buf, 3812, pids(p40=0, p20=0), 2)
    assert struct.unpack_from("<III", bytes(buf)) == (0, 0xC7C0, 2)
    assert struct.unpack_from("<5I", bytes(buf), 12) == (20, 40, 0, 0, 0)


def test_process_memory_is_that_of_the_books() -> None:
    entries = [struct.pack("<IIIxxxx7Q", pid, 0, 0, *[5 * GiB] * 6, NONE) for pid in (10, 20)]
    data = struct.pack("<Ixxxx", 2) + b"".join(entries)
    buf = ffi.new("u8[]", list(data.ljust(14408, b"\0")))
    lib.vgpu_report_pid_info(control(0x2080018E, 14408), buf, 14408, pids(p20=3 * GiB), 1)
    foreign, own = (struct.unpack_from("<IIIxxxx7Q", bytes(buf), 8 + 72 * n) for n in range(2))
    assert foreign == (10, 0, 0, *[0] * 6, NONE)
    assert own == (20, 0, 0, 3 * GiB, *[0] * 5, NONE)
