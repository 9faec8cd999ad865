# SPDX-License-Identifier: Apache-2.0
"""A fabric as JSON and as a page for people."""

from typing import Any

from vgpu.pool.fabric.graph import Fabric
from vgpu.pool.fabric.model import Rate
from vgpu.pool.fabric.routes import Usage


def _rate(rate: Rate | None) -> dict[str, Any]:
    return {"rate": str(rate) if rate else None, "gbps": rate.gbps if rate else None}


def as_json(fabric: Fabric, usage: Usage | None) -> dict[str, Any]:
    units = fabric.units
    unit_of = fabric.unit_of_host()
    return {
        "switches": [
            [
                {
                    "name": fabric.name(guid),
                    "guid": f"{guid:#018x}",
                    "lid": fabric.switches[guid].lid,
                    "ports": fabric.switches[guid].ports,
                    "ports_used": len(fabric.switches[guid].peers),
                }
                for guid in row
            ]
            for row in fabric.by_level
        ],
        "leaves": [_leaf(fabric, leaf) for leaf in fabric.leaves],
        "units": [
            {
                "leaves": [fabric.name(leaf) for leaf in unit.leaves],
                "hosts": unit.hosts,
                "block": unit.block,
            }
            for unit in units
        ],
        "hosts": [
            {
                "name": host,
                "unit": unit_of.get(host),
                "ports": [
                    {
                        "hca": port.hca,
                        "guid": f"{port.guid:#018x}",
                        "port": port.port,
                        "lid": port.lid,
                        "rail": port.rail,
                        "leaf": fabric.name(port.leaf),
                        "leaf_port": port.leaf_port,
                    }
                    | _rate(port.rate)
                    for port in ports
                ],
            }
            for host, ports in fabric.hosts.items()
        ],
        "links": [
            {
                "low": fabric.name(link.low),
                "low_port": link.low_port,
                "high": fabric.name(link.high),
                "high_port": link.high_port,
            }
            | _rate(link.rate)
            | (
                {
                    "paths_up": usage.load.get((link.low, link.low_port), 0),
                    "paths_down": usage.load.get((link.high, link.high_port), 0),
                }
                if usage
                else {}
            )
            for link in fabric.links
        ],
        "routing": routing(usage) if usage else None,
    }


def _leaf(fabric: Fabric, leaf: int) -> dict[str, Any]:
    ports = fabric.ports_of_leaf.get(leaf, [])
    up = fabric.up.get(leaf, [])
    ratio = fabric.oversubscription(leaf)
    return {
        "name": fabric.name(leaf),
        "guid": f"{leaf:#018x}",
        "hosts": sorted({port.host for port in ports}),
        "downlinks": len(ports),
        "uplinks": [
            {"to": fabric.name(it.high), "port": it.low_port} | _rate(it.rate) for it in up
        ],
        "oversubscription": None if ratio is None else round(ratio, 3),
    }


def routing(usage: Usage) -> dict[str, Any]:
    return {
        "follows": usage.follows,
        "pairs": usage.pairs,
        "unreached": usage.unreached,
        "shortest": usage.minimal,
        "turns_up_after_down": usage.down_up,
        "credit_loop": bool(usage.credit_loop),
        "worst_shift_paths": usage.shift,
    }


def page(fabric: Fabric, usage: Usage | None) -> list[str]:
    lines = [
        f"{len(fabric.hosts)} hosts with {len(fabric.ports)} ports, {len(fabric.switches)} switches"
        f" in {len(fabric.by_level)} levels, {len(fabric.links)} cables between them"
    ]
    if fabric.rail_optimised:
        lines.append("rail-optimised: the HCAs of a host hang on different leaves")
    for level in reversed(range(1, len(fabric.by_level))):
        row = fabric.by_level[level]
        lines.append(
            f"level {level}  {len(row)} switches, {fabric.name(row[0])} to {fabric.name(row[-1])}"
        )
    if usage:
        told = ", ".join(usage.follows) or "no known engine"
        lines.append(f"tables: rules of {told}; worst shift puts {usage.shift} paths on a cable")
    return lines


def leaf_rows(fabric: Fabric) -> list[tuple[str, ...]]:
    unit_of_leaf = {leaf: unit for unit in fabric.units for leaf in unit.leaves}
    rows: list[tuple[str, ...]] = []
    for leaf in fabric.leaves:
        ports = fabric.ports_of_leaf.get(leaf, [])
        rates = sorted({str(port.rate) for port in ports if port.rate})
        ratio = fabric.oversubscription(leaf)
        rails = sorted({port.rail for port in ports})
        rows.append(
            (
                fabric.name(leaf),
                str(unit_of_leaf[leaf].block),
                str(len({port.host for port in ports})),
                ",".join(map(str, rails)),
                ",".join(rates),
                str(len(fabric.up.get(leaf, []))),
                "-" if ratio is None else f"{ratio:.2f}:1",
            )
        )
    return rows


LEAF_HEAD = ("LEAF", "BLOCK", "HOSTS", "RAILS", "RATE", "UPLINKS", "OVERSUBSCRIBED")
