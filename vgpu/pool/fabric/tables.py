# SPDX-License-Identifier: Apache-2.0
"""Reads forwarding tables: opensm-lfts.dump (opensm, osm_dump.c: dump_ucast_lfts) and what
dump_lfts prints (infiniband-diags, ibroute.c: dump_unicast_tables)."""

import re
from collections.abc import Iterable

from vgpu.errors import VgpuError
from vgpu.pool.fabric.model import Tables

_HEAD = re.compile(r"Unicast lids \[.*\] of switch .*\bguid (0x[0-9a-fA-F]+)")
_ROW = re.compile(r"\s*(0x[0-9a-fA-F]+)\s+(\d+)\s*(?:[:#].*)?")
_SKIP = re.compile(r"\s*(#.*|Lid\s+Out.*|Port\s+Info.*|Destination.*|\d+ .*lids dumped.*)?\s*")

# Highest unicast LID, and the port that stands for "no path" in a table (IBTA vol. 1, 14.2.5.6).
LID_MAX = 0xBFFF
NO_PATH = 255


def read_tables(lines: Iterable[str], source: str) -> Tables:
    ports: dict[int, dict[int, int]] = {}
    table: dict[int, int] | None = None
    number = 0
    hint = "give opensm-lfts.dump of opensm, or what 'dump_lfts' prints"
    for number, line in enumerate(lines, 1):
        text = line.rstrip()
        if found := _ROW.fullmatch(text):
            lid, port = int(found[1], 16), int(found[2])
            if table is None:
                raise VgpuError(f"{source}:{number}: a row with no switch above it", hint)
            if not 1 <= lid <= LID_MAX or port > NO_PATH:
                raise VgpuError(f"{source}:{number}: no unicast LID and port: {text!r}", hint)
            if lid in table:
                raise VgpuError(f"{source}:{number}: LID {lid} is there twice", hint)
            if port != NO_PATH:
                table[lid] = port
        elif found := _HEAD.match(text):
            guid = int(found[1], 16)
            if guid in ports:
                raise VgpuError(f"{source}:{number}: switch {guid:#x} is there twice", hint)
            table = ports[guid] = {}
        elif not _SKIP.fullmatch(text):
            raise VgpuError(f"{source}:{number}: not a line of a table: {text[:60]!r}", hint)
    if not ports:
        raise VgpuError(f"{source}:{max(number, 1)}: no table in it", hint)
    return Tables(source, ports)
