# SPDX-License-Identifier: Apache-2.0
"""The tables of facts: whole, without doubles, and equal to NVIDIA's headers.

tests/data/facts_535.json holds what a debugger says of the headers of each published version of the
branch: sizes, offsets, numbers.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from ring0.native import ffi, lib

ABI = lib.vgpu_rm_abi(b"535.288.01")
TABLES = ["escapes", "classes", "controls", "functions", "memories", "uvm", "items"]
FACTS = Path(__file__).resolve().parent.parent / "data/facts_535.json"


def rows(table: str) -> list[Any]:
    found = getattr(ABI, table)
    return [found.rows[i] for i in range(found.nr)]


def name(row: Any) -> str:
    return ffi.string(row.name).decode()


@pytest.mark.parametrize("table", TABLES)
def test_no_number_twice_and_every_field_inside(table: str) -> None:
    seen = set()
    for row in rows(table):
        assert (row.nr, row.size) not in seen
        seen.add((row.nr, row.size))
        for i in range(row.nr_fields):
            field = row.fields[i]
            assert field.slot < lib.VGPU_F_SLOTS
            count = 1 if field.slot == lib.VGPU_F_DEEP_PTR else field.count
            assert field.offset + field.width * count <= max(row.size, 4), name(row)


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_in_the_order_of_their_numbers(table: str) -> None:
    numbers = [row.nr for row in rows(table)]
    assert numbers == sorted(numbers)


def test_what_is_said_of_control_twice_is_the_same() -> None:
    (row,) = [row for row in rows("escapes") if row.what == lib.VGPU_RM_CONTROL]
    cmd = lib.vgpu_rm_field(ffi.addressof(row), lib.VGPU_F_CMD)
    assert (row.nr, row.size, row.where) == (ABI.control_nr, ABI.control_size, lib.VGPU_ON_CTL)
    assert (cmd.offset, cmd.width) == (ABI.control_cmd, 4)


def test_every_refused_escape_can_say_so() -> None:
    for row in rows("escapes"):
        if row.refuse:
            assert lib.vgpu_rm_field(ffi.addressof(row), lib.VGPU_F_STATUS), name(row)


def test_what_allocates_has_every_field_that_is_charged_by() -> None:
    for row in rows("escapes"):
        if row.what in (lib.VGPU_RM_ALLOC, lib.VGPU_RM_ALLOC_MEMORY, lib.VGPU_RM_DUP):
            for slot in ("CLIENT", "PARENT", "OBJECT", "STATUS"):
                assert lib.vgpu_rm_field(ffi.addressof(row), getattr(lib, f"VGPU_F_{slot}"))
    for row in [*rows("classes"), *rows("functions")]:
        if row.what in (lib.VGPU_CLASS_VIDMEM,) and row.size == 120:
            for slot in ("SIZE", "ATTR", "ATTR2", "MEM_FLAGS"):
                assert lib.vgpu_rm_field(ffi.addressof(row), getattr(lib, f"VGPU_F_{slot}"))


def test_device_memory_is_one_class_and_three_functions() -> None:
    assert [name(r) for r in rows("classes") if r.what == lib.VGPU_CLASS_VIDMEM] == [
        "NV01_MEMORY_LOCAL_USER"
    ]
    functions = [r.nr for r in rows("functions") if r.what == lib.VGPU_RM_VID_HEAP_ALLOC]
    assert functions == [2, 6, 14]


# Struct of a row where it is not its name's; the rows of RM_ALLOC differ by size.
STRUCTS = {
    "NV_ESC_RM_ALLOC_MEMORY": "nv_ioctl_nvos02_parameters_with_fd",
    "NV_ESC_RM_ALLOC_OBJECT": "NVOS05_PARAMETERS",
    "NV_ESC_RM_FREE": "NVOS00_PARAMETERS",
    "NV_ESC_RM_CONTROL": "NVOS54_PARAMETERS",
    "NV_ESC_RM_DUP_OBJECT": "NVOS55_PARAMETERS",
    "NV_ESC_RM_SHARE": "NVOS57_PARAMETERS",
    "NV_ESC_RM_IDLE_CHANNELS": "NVOS30_PARAMETERS",
    "NV_ESC_RM_VID_HEAP_CONTROL": "NVOS32_PARAMETERS",
    "NV_ESC_RM_MAP_MEMORY": "nv_ioctl_nvos33_parameters_with_fd",
    "NV_ESC_RM_UNMAP_MEMORY": "NVOS34_PARAMETERS",
    "NV_ESC_RM_ALLOC_CONTEXT_DMA2": "NVOS39_PARAMETERS",
    "NV_ESC_RM_MAP_MEMORY_DMA": "NVOS46_PARAMETERS",
    "NV_ESC_RM_UNMAP_MEMORY_DMA": "NVOS47_PARAMETERS",
    "NV_ESC_RM_BIND_CONTEXT_DMA": "NVOS49_PARAMETERS",
    "NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO": "NVOS56_PARAMETERS",
    "NV_ESC_CARD_INFO": "nv_ioctl_card_info_t",
    "NV_ESC_REGISTER_FD": "nv_ioctl_register_fd_t",
    "NV_ESC_ALLOC_OS_EVENT": "nv_ioctl_alloc_os_event_t",
    "NV_ESC_FREE_OS_EVENT": "nv_ioctl_free_os_event_t",
    "NV_ESC_CHECK_VERSION_STR": "nv_ioctl_rm_api_version_t",
    "NV_ESC_IOCTL_XFER_CMD": "nv_ioctl_xfer_t",
    "NV_ESC_SYS_PARAMS": "nv_ioctl_sys_params_t",
    "NV_ESC_NUMA_INFO": "nv_ioctl_numa_info_t",
    "NV_ESC_EXPORT_TO_DMABUF_FD": "nv_ioctl_export_to_dma_buf_fd_t",
    "NV01_DEVICE_0": "NV0080_ALLOC_PARAMETERS",
    "NV20_SUBDEVICE_0": "NV2080_ALLOC_PARAMETERS",
    "NV01_MEMORY_LOCAL_USER": "NV_MEMORY_ALLOCATION_PARAMS",
    "NV01_MEMORY_SYSTEM": "NV_MEMORY_ALLOCATION_PARAMS",
    "NV50_MEMORY_VIRTUAL": "NV_MEMORY_ALLOCATION_PARAMS",
    "NV01_MEMORY_VIRTUAL": "NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS",
    "NV01_MEMORY_SYSTEM_OS_DESCRIPTOR": "NV_OS_DESC_MEMORY_ALLOCATION_PARAMS",
    "KEPLER_CHANNEL_GROUP_A": "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS",
    "AMPERE_CHANNEL_GPFIFO_A": "NV_CHANNEL_ALLOC_PARAMS",
    "FERMI_CONTEXT_SHARE_A": "NV_CTXSHARE_ALLOCATION_PARAMETERS",
    "FERMI_VASPACE_A": "NV_VASPACE_ALLOCATION_PARAMETERS",
    "GT200_DEBUGGER": "NV83DE_ALLOC_PARAMETERS",
}


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return json.loads(FACTS.read_text())


def layout(facts: dict[str, Any], struct: str, version: str) -> dict[str, Any] | None:
    tags = facts["tags"]
    for run in facts["structs"].get(struct, []):
        if tags.index(run["from"]) <= tags.index(version) <= tags.index(run["to"]):
            return run if run["size"] else None
    return None


def test_numbers_are_those_of_the_headers(facts: dict[str, Any]) -> None:
    for row in [r for table in TABLES[:4] for r in rows(table)] + rows("uvm"):
        values = {run["value"] for run in facts["macros"].get(name(row), [])} - {None}
        assert not values or row.nr in values, name(row)


def test_sizes_are_those_of_every_version(facts: dict[str, Any]) -> None:
    for version in (v for v in facts["tags"] if v.startswith("535.")):
        abi = lib.vgpu_rm_abi(version.encode())
        assert abi, version
        for table in ("escapes", "classes", "controls", "uvm"):
            found = getattr(abi, table)
            for row in (found.rows[i] for i in range(found.nr)):
                known = layout(facts, STRUCTS.get(name(row), name(row) + "_PARAMS"), version)
                known = known or layout(
                    facts, name(row).replace("_CTRL_CMD_", "_CTRL_") + "_PARAMS", version
                )
                size = row.size
                if row.what == lib.VGPU_CLASS_CHANNEL and table == "classes":
                    size = abi.channel_size
                # A control that is refused is not looked into.
                if known and size:
                    assert size == known["size"], (version, name(row))


# Fields by slot, enough to catch one that points elsewhere.
FIELDS = {
    "hClient": "CLIENT", "hRoot": "CLIENT", "status": "STATUS", "rmStatus": "STATUS",
    "hObjectNew": "OBJECT", "hObjectOld": "OBJECT", "hClass": "CLASS", "cmd": "CMD",
    "paramsSize": "PTR_SIZE", "pAllocParms": "PTR", "params": "PTR", "hClientSrc": "SRC_CLIENT",
    "hObjectSrc": "SRC_OBJECT", "base": "BASE", "length": "LENGTH", "deviceId": "INSTANCE",
    "attr": "ATTR", "attr2": "ATTR2", "gpuIds": "LIST", "function": "CMD",
}  # fmt: skip


def test_fields_are_where_the_headers_have_them(facts: dict[str, Any]) -> None:
    checked = 0
    for row in [r for table in ("escapes", "classes", "controls", "uvm") for r in rows(table)]:
        struct = STRUCTS.get(name(row), name(row).replace("_CTRL_CMD_", "_CTRL_") + "_PARAMS")
        if name(row) == "NV_ESC_RM_ALLOC":
            struct = {32: "NVOS21_PARAMETERS", 48: "NVOS64_PARAMETERS"}[row.size]
        known = layout(facts, struct, "535.288.01")
        for field, offset, *_ in known["fields"] if known else []:
            slot = FIELDS.get(field.removeprefix("params."))
            if slot is None:
                continue
            ours = lib.vgpu_rm_field(ffi.addressof(row), getattr(lib, f"VGPU_F_{slot}"))
            if ours:
                assert ours.offset == offset, (name(row), field)
                checked += 1
    assert checked > 100
