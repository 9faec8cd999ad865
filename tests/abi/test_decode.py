# SPDX-License-Identifier: Apache-2.0
"""The decoder: bytes of any kind are safe, requests mean what NVIDIA's headers say."""

import errno
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring0.native import ffi, lib

ABI = lib.vgpu_rm_abi(b"535.309.01")
MiB = 1 << 20
NUMBERS = sorted({ABI.escapes.rows[i].nr for i in range(ABI.escapes.nr)})
COMMANDS = sorted(ABI.uvm.rows[i].nr for i in range(ABI.uvm.nr))
SIZES = sorted({ABI.escapes.rows[i].size for i in range(ABI.escapes.nr)})


def put(size: int, *fields: tuple[int, int, int]) -> bytes:
    data = bytearray(size)
    for offset, width, value in fields:
        data[offset : offset + width] = value.to_bytes(width, "little")
    return bytes(data)


def exact(data: bytes) -> Any:
    """A buffer of its own, so that the sanitizers see a byte read past its end."""
    return ffi.new("u8[]", list(data))  # from bytes it would be one longer


def decode(nr: int, data: bytes, ctl: bool = True, inner: bytes | None = None) -> Any:
    req = ffi.new("struct vgpu_rm_req *")
    lib.vgpu_rm_decode(ABI, ctl, nr, exact(data), len(data), req)
    if inner is not None:
        lib.vgpu_rm_decode_inner(req, exact(inner), len(inner))
    return req


@st.composite
def outers(draw: st.DrawFn) -> tuple[int, bytes]:
    nr = draw(st.one_of(st.sampled_from(NUMBERS), st.integers(0, 2**32 - 1)))
    size = draw(st.one_of(st.sampled_from(SIZES), st.integers(0, 300)))
    data = bytearray(draw(st.binary(min_size=size, max_size=size)))
    # Most of what matters hides behind a known class, control or function.
    for at in (8, 12):
        if len(data) >= at + 4 and draw(st.booleans()):
            row = draw(
                st.one_of(
                    st.integers(0, ABI.classes.nr - 1).map(lambda i: ABI.classes.rows[i].nr),
                    st.integers(0, ABI.controls.nr - 1).map(lambda i: ABI.controls.rows[i].nr),
                    st.integers(0, 30),
                )
            )
            data[at : at + 4] = row.to_bytes(4, "little")
    return nr, bytes(data)


@given(outers(), st.booleans(), st.binary(max_size=400), st.integers(0, 2**64 - 1))
def test_random_bytes(outer: tuple[int, bytes], ctl: bool, inner: bytes, seed: int) -> None:
    nr, data = outer
    req = decode(nr, data, ctl)
    assert req.verdict in (
        lib.VGPU_RM_FORWARD,
        lib.VGPU_RM_REFUSE_STATUS,
        lib.VGPU_RM_REFUSE_ERRNO,
    )
    assert req.ptr_size <= 1 << 16 or req.op == lib.VGPU_RM_XFER
    # What the caller copies is what is asked for, or a fault: shorter is never decoded.
    given_inner = inner[: req.ptr_size] if len(inner) > req.ptr_size else inner
    lib.vgpu_rm_decode_inner(req, exact(given_inner), len(given_inner))
    assert req.nr_deps <= lib.VGPU_RM_MAX_DEPS
    assert req.holds >> req.nr_deps == 0
    assert req.deep_size <= 54 * 8
    if req.takes == lib.VGPU_TAKES_BUFFER:
        assert req.bytes >= req.asked
    if req.verdict != lib.VGPU_RM_FORWARD:
        assert req.takes == lib.VGPU_TAKES_NOTHING
        assert req.ptr_size == 0
    if req.verdict == lib.VGPU_RM_REFUSE_STATUS:
        reply = exact(data)
        assert lib.vgpu_rm_set_status(req, reply, len(data), req.refuse_status)
    result = ffi.new("struct vgpu_rm_result *")
    lib.vgpu_rm_reply(req, exact(data), len(data), exact(inner), len(inner), result)
    if req.takes == lib.VGPU_TAKES_BUFFER:
        assert result.bytes >= req.asked


@given(st.one_of(st.sampled_from(COMMANDS), st.integers(0, 2**32 - 1)), st.binary(max_size=1300))
def test_random_uvm_bytes(cmd: int, data: bytes) -> None:
    req = ffi.new("struct vgpu_uvm_req *")
    size = lib.vgpu_uvm_size(ABI, cmd)
    data = data[:size].ljust(size if len(data) > 600 else len(data), b"\xff")
    lib.vgpu_uvm_decode(ABI, cmd, exact(data), len(data), req)
    if cmd not in COMMANDS or len(data) < size:
        assert req.verdict == lib.VGPU_RM_REFUSE_ERRNO
        assert req.refuse_errno == errno.EINVAL
        return
    for i in range(req.nr_uuids):
        assert req.uuid + i * req.uuid_stride + 16 <= size


@given(st.text(max_size=12))
def test_versions_are_matched_exactly(text: str) -> None:
    known = set()
    while lib.vgpu_rm_version(len(known)):
        known.add(ffi.string(lib.vgpu_rm_version(len(known))).decode())
    assert len(known) == 39
    for version in (text, *(v + "0" for v in known), *(v[:-1] for v in known)):
        name = version.encode(errors="ignore").replace(b"\0", b"")
        assert bool(lib.vgpu_rm_abi(name)) == (name.decode() in known)


ALLOC21 = [(0, 4, 0xC1D00001), (4, 4, 0x80), (8, 4, 0x5C), (12, 4, 0x40), (16, 8, 0x1000)]
MEMORY = put(120, (64, 8, 4 * MiB))


def test_both_forms_of_rm_alloc() -> None:
    for size, params_size in ((32, 0), (32, 120), (48, 0), (48, 120)):
        at = 24 if size == 32 else 32
        data = put(size, *ALLOC21, (at, 4, params_size))
        req = decode(0x2B, data, inner=MEMORY)
        assert (req.client, req.parent, req.object) == (0xC1D00001, 0x80, 0x5C)
        assert getattr(req, "class") == 0x40
        assert (req.ptr, req.ptr_size) == (0x1000, 120)
        assert (req.takes, req.bytes) == (lib.VGPU_TAKES_BUFFER, 4 * MiB)


@pytest.mark.parametrize(("size", "params_size"), [(32, 119), (32, 128), (48, 1)])
def test_another_layout_is_refused(size: int, params_size: int) -> None:
    at = 24 if size == 32 else 32
    req = decode(0x2B, put(size, *ALLOC21, (at, 4, params_size)))
    assert req.refuse_status == lib.VGPU_NV_ERR_INVALID_PARAM_STRUCT


@pytest.mark.parametrize("size", [0, 31, 33, 40, 47, 49, 64])
def test_an_outer_argument_of_another_size_is_refused(size: int) -> None:
    req = decode(0x2B, put(64, *ALLOC21)[:size])
    assert (req.verdict, req.refuse_errno) == (lib.VGPU_RM_REFUSE_ERRNO, errno.EINVAL)
    assert decode(0x4A, bytes(183)).verdict == lib.VGPU_RM_REFUSE_ERRNO


def test_device_memory_without_parameters_is_refused() -> None:
    req = decode(0x2B, put(32, (12, 4, 0x40)))
    assert req.verdict == lib.VGPU_RM_REFUSE_STATUS


def test_escapes_belong_to_their_nodes() -> None:
    free, register = put(16), put(4, (0, 4, 7))
    assert decode(0x29, free, ctl=True).verdict == lib.VGPU_RM_FORWARD
    assert decode(0x29, free, ctl=False).verdict == lib.VGPU_RM_REFUSE_ERRNO
    assert decode(201, register, ctl=True).verdict == lib.VGPU_RM_REFUSE_ERRNO
    req = decode(201, register, ctl=False)
    assert (req.verdict, req.op, req.fd) == (lib.VGPU_RM_FORWARD, lib.VGPU_RM_REGISTER_FD, 7)


@pytest.mark.parametrize(
    ("nr", "why"),
    [
        (0x39, "I2C"), (0x4D, "registry"), (0x5F, "log"), (209, "status"), (213, "interrupt"),
        (216, "NUMA status"), (0, "nothing"), (2**32 - 1, "nothing"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_table_is_refused(nr: int, why: str) -> None:
    for size in (0, 4, 12, 16, 32, 64):
        for ctl in (True, False):
            assert decode(nr, bytes(size), ctl).verdict == lib.VGPU_RM_REFUSE_ERRNO, why


def test_a_wrapped_request_is_unwrapped() -> None:
    req = decode(211, put(16, (0, 4, 0x2B), (4, 4, 32), (8, 8, 0x7000)))
    assert (req.op, req.cmd, req.ptr_size, req.ptr) == (lib.VGPU_RM_XFER, 0x2B, 32, 0x7000)


STATUSES = {
    0xC2: 0x1B, 0x81: 0x1B, 0x82: 0x1B, 0x83: 0x1B, 0x3F: 0x1B, 0x76: 0x1B, 0xC637 + 2: 0x1B,
    0xF3: 0x56, 0xF8: 0x56, 0xFD: 0x56, 0xFE: 0x56, 0xB1: 0x56, 0x900E: 0x56,
    0xE0: 0x22, 0xF9: 0x22, 0xFB: 0x22, 0x1234: 0x22,
}  # fmt: skip


@pytest.mark.parametrize("class_", STATUSES, ids=hex)
def test_memory_that_nobody_charged_is_refused(class_: int) -> None:
    for size, at in ((32, 28), (48, 40)):
        data = put(size, *ALLOC21[:3], (12, 4, class_), (16, 8, 0x1000))
        req = decode(0x2B, data)
        assert (req.verdict, req.refuse_status) == (lib.VGPU_RM_REFUSE_STATUS, STATUSES[class_])
        reply = exact(data)
        assert lib.vgpu_rm_set_status(req, reply, size, req.refuse_status)
        assert bytes(reply)[at : at + 4] == STATUSES[class_].to_bytes(4, "little")


@pytest.mark.parametrize(
    ("class_", "kind", "takes"),
    [
        (0x0, "CLIENT", "NOTHING"), (0x41, "CLIENT", "NOTHING"), (0x80, "DEVICE", "NOTHING"),
        (0x2080, "SUBDEVICE", "NOTHING"), (0xA06C, "TSG", "NOTHING"),
        (0x9067, "CTXSHARE", "NOTHING"), (0x90F1, "VASPACE", "NOTHING"),
        (0xC56F, "CHANNEL", "CHANNEL"), (0xC36F, "CHANNEL", "CHANNEL"),
        (0xC7C0, "GRAPHICS", "CONTEXT"), (0xC797, "GRAPHICS", "CONTEXT"),
        (0xC7B5, "ENGINE", "NOTHING"), (0xC461, "USERMODE", "NOTHING"),
        (0xC661, "USERMODE", "NOTHING"), (0x79, "EVENT", "NOTHING"), (0x3E, "SYSMEM", "NOTHING"),
        (0x50A0, "VIRTUAL", "NOTHING"), (0x70, "VIRTUAL", "NOTHING"),
    ],
)  # fmt: skip
def test_what_classes_are(class_: int, kind: str, takes: str) -> None:
    req = decode(0x2B, put(48, *ALLOC21[:3], (12, 4, class_), (16, 8, 0x1000)))
    assert req.verdict == lib.VGPU_RM_FORWARD
    assert req.class_kind == getattr(lib, f"VGPU_CLASS_{kind}")
    assert req.takes == getattr(lib, f"VGPU_TAKES_{takes}")


def test_what_a_channel_needs() -> None:
    params = put(360, (24, 4, 0x11), (28, 4, 0x12), (32, 4, 0x21), (36, 4, 0x22), (60, 4, 0x28))
    data = put(48, *ALLOC21[:3], (12, 4, 0xC56F), (16, 8, 0x1000))
    req = decode(0x2B, data, inner=params)
    assert list(req.deps)[: req.nr_deps] == [0x11, 0x12, 0x21, 0x22, 0x28]
    assert req.holds == 0b11100


@pytest.mark.parametrize(("version", "size"), [(b"535.54.03", 304), (b"535.288.01", 360)])
def test_the_channel_of_early_versions_is_shorter(version: bytes, size: int) -> None:
    data = put(48, *ALLOC21[:3], (12, 4, 0xC56F), (16, 8, 0x1000))
    req = ffi.new("struct vgpu_rm_req *")
    lib.vgpu_rm_decode(lib.vgpu_rm_abi(version), True, 0x2B, exact(data), 48, req)
    assert req.ptr_size == size


def test_pages_of_other_processes_are_no_host_memory() -> None:
    data = put(48, *ALLOC21[:3], (12, 4, 0x71), (16, 8, 0x1000))
    assert decode(0x2B, data, inner=put(40)).verdict == lib.VGPU_RM_FORWARD
    foreign = decode(0x2B, data, inner=put(40, (32, 4, 2)))
    assert foreign.refuse_status == lib.VGPU_NV_ERR_NOT_SUPPORTED


K64, M2 = 1 << 16, 2 * MiB


@pytest.mark.parametrize(
    ("asked", "attr", "attr2", "charged"),
    [
        (1, 0, 0, K64), (K64, 0, 0, K64), (M2 - 1, 0, 0, M2), (M2, 0, 0, M2),
        (M2 + 1, 0, 0, 2 * M2),
        (1, 1 << 23, 0, 4096), (M2 + 1, 1 << 23, 0, M2 + 4096), (M2 + 1, 2 << 23, 0, M2 + K64),
        (1, 3 << 23, 0, M2), (1, 3 << 23, 1 << 20, M2), (1, 3 << 23, 2 << 20, 512 * MiB),
        (0, 0, 0, 0), (2**64 - 1, 0, 0, 2**64 - 1), (2**64 - 4096, 1 << 23, 0, 2**64 - 4096),
    ],
)  # fmt: skip
def test_sizes_are_charged_as_the_driver_rounds_them(
    asked: int, attr: int, attr2: int, charged: int
) -> None:
    params = put(120, (64, 8, asked), (24, 4, attr), (28, 4, attr2))
    assert decode(0x2B, put(32, *ALLOC21), inner=params).bytes == charged
    heap = put(184, (8, 4, 2), (56, 4, attr), (88, 8, asked), (144, 4, attr2))
    assert decode(0x4A, heap).bytes == charged


@pytest.mark.parametrize(("height", "pitch", "asked"), [(4, 256, 1024), (1, 2**31, 2**64 - 2**31)])
def test_a_tiled_surface_is_height_by_pitch(height: int, pitch: int, asked: int) -> None:
    req = decode(0x4A, put(184, (8, 4, 6), (56, 4, height), (60, 4, pitch)))
    assert (req.takes, req.asked) == (lib.VGPU_TAKES_BUFFER, asked)


@pytest.mark.parametrize("function", [0, 1, 4, 11, 15, 16, 19, 20, 27, 99, 2**32 - 1])
def test_other_heap_functions_are_refused(function: int) -> None:
    data = put(184, (8, 4, function))
    req = decode(0x4A, data)
    assert req.refuse_status == lib.VGPU_NV_ERR_NOT_SUPPORTED
    reply = exact(data)
    assert lib.vgpu_rm_set_status(req, reply, 184, 0x56)
    assert bytes(reply)[20] == 0x56


@pytest.mark.parametrize(("class_", "allowed"), [(0x3E, 1), (0x70, 1), (0x71, 1), (0x40, 0)])
def test_classes_of_alloc_memory(class_: int, allowed: int) -> None:
    data = put(56, (0, 4, 1), (8, 4, 2), (12, 4, class_), (32, 8, 4095), (48, 4, 2**32 - 1))
    req = decode(0x27, data, ctl=False)
    assert (req.verdict == lib.VGPU_RM_FORWARD) == bool(allowed)
    assert req.takes == lib.VGPU_TAKES_NOTHING
    assert req.fd == -1


@pytest.mark.parametrize("cmd", [0x3D05, 0x3D06, 0x3D0A, 0x3D0B, 0x3D0C, 0xB03, 0xB04], ids=hex)
def test_controls_that_carry_memory_away_are_refused(cmd: int) -> None:
    req = decode(0x2A, put(32, (8, 4, cmd), (16, 8, 0x1000), (24, 4, 24)))
    assert req.refuse_status == lib.VGPU_NV_ERR_NOT_SUPPORTED


def test_controls_that_mean_nothing_to_us_pass_without_a_copy() -> None:
    req = decode(0x2A, put(32, (8, 4, 0x20800102), (16, 8, 0x1000), (24, 4, 516)))
    assert (req.verdict, req.control, req.ptr_size) == (
        lib.VGPU_RM_FORWARD,
        lib.VGPU_CONTROL_OTHER,
        0,
    )


def test_the_list_behind_fb_get_info_is_bounded() -> None:
    data = put(32, (8, 4, 0x20801301), (16, 8, 0x1000), (24, 4, 16))
    for count, size in ((0, 0), (3, 24), (54, 432), (55, 0), (2**32 - 1, 0)):
        req = decode(0x2A, data, inner=put(16, (0, 4, count), (8, 8, 0x2000)))
        assert (req.deep_ptr, req.deep_size) == (0x2000, size)


def test_the_driver_is_given_a_handle_where_it_would_choose() -> None:
    for nr, data, at in (
        (0x2B, put(32, (12, 4, 0x40), (16, 8, 0x1000)), 8),
        (0x4A, put(184, (8, 4, 2), (88, 8, MiB), (44, 4, 0xDEAD)), 44),
    ):
        req = decode(nr, data)
        assert req.object == 0
        buf = exact(data)
        assert lib.vgpu_rm_set_object(req, buf, len(data), 0x1234)
        again = decode(nr, bytes(buf))
        assert again.object == req.object == 0x1234
        assert bytes(buf)[at : at + 2] == b"\x34\x12"


def test_uvm_maps_once_for_each_gpu() -> None:
    uuids = [(24 + 36 * n, 4, 0xA0 + n) for n in range(3)]
    data = put(1200, (0, 8, 1), (8, 8, 2), (1176, 8, 3), (1188, 4, 4), (1192, 4, 5), *uuids)
    req = ffi.new("struct vgpu_uvm_req *")
    lib.vgpu_uvm_decode(ABI, 33, exact(data), 1200, req)
    assert (req.base, req.length, req.client, req.object) == (1, 2, 4, 5)
    assert [data[req.uuid + i * req.uuid_stride] for i in range(req.nr_uuids)] == [0xA0, 0xA1, 0xA2]
    many = put(1200, (1176, 8, 33))
    lib.vgpu_uvm_decode(ABI, 33, exact(many), 1200, req)
    assert (req.verdict, req.nr_uuids) == (lib.VGPU_RM_REFUSE_STATUS, 0)


@pytest.mark.parametrize("cmd", [1, 2, 9, 18, 35, 56, 62, 63, 71, 74, 78, 80, 200, 2047])
def test_uvm_tools_tests_and_the_old_interface_are_refused(cmd: int) -> None:
    req = ffi.new("struct vgpu_uvm_req *")
    lib.vgpu_uvm_decode(ABI, cmd, exact(bytes(1200)), 1200, req)
    assert (req.verdict, req.refuse_errno) == (lib.VGPU_RM_REFUSE_ERRNO, errno.EINVAL)
