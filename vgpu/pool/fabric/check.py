# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a fabric: cables that are missing, slow or in the wrong place, tables that do
not reach, wait for each other, or leave cables idle while others carry twice the mean."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import networkx as nx

from vgpu.pool.fabric.graph import Fabric, Link
from vgpu.pool.fabric.routes import Routes, Usage

# nue keeps within 1.5 times the mean on a two-level tree, minhop reaches 3.6 on a three-level one.
_UNEVEN = 2.0


@dataclass(frozen=True)
class Finding:
    kind: str
    where: str
    what: str


def check(fabric: Fabric) -> list[Finding]:
    """What the cables alone show."""
    return [
        *_parts(fabric),
        *_sideways(fabric),
        *_uplinks(fabric),
        *_slow(fabric),
        *_rails(fabric),
        *_lids(fabric),
    ]


def check_routes(fabric: Fabric, routes: Routes, usage: Usage) -> list[Finding]:
    return [
        *_unreached(fabric, usage),
        *_credit_loop(fabric, usage),
        *_unbalanced(fabric, routes, usage),
    ]


def _parts(fabric: Fabric) -> Iterator[Finding]:
    parts = sorted(nx.connected_components(fabric.graph), key=len, reverse=True)
    for part in parts[1:]:
        name = min(fabric.name(guid) for guid in part)
        yield Finding("apart", name, f"{len(part)} switches have no cable to the rest")


def _end(fabric: Fabric, guid: int, port: int) -> str:
    return f"{fabric.name(guid)}[{port}]"


def _cable(fabric: Fabric, link: Link) -> str:
    return f"{_end(fabric, link.low, link.low_port)} - {_end(fabric, link.high, link.high_port)}"


def _sideways(fabric: Fabric) -> Iterator[Finding]:
    for link in fabric.links:
        if fabric.levels[link.low] == fabric.levels[link.high]:
            yield Finding(
                "sideways",
                _cable(fabric, link),
                f"joins two switches of level {fabric.levels[link.low]}: not a fat tree",
            )


def _uplinks(fabric: Fabric) -> Iterator[Finding]:
    """A switch is compared with those of its level in its block: blocks may differ."""
    blocks: dict[tuple[int, int], list[int]] = defaultdict(list)
    for level in range(len(fabric.by_level) - 1):
        for number, part in enumerate(fabric.domains_at(level + 1)):
            for guid in part:
                if fabric.levels[guid] == level:
                    blocks[level, number].append(guid)
    for peers in blocks.values():
        count = {guid: len(fabric.up.get(guid, ())) for guid in peers}
        usual = Counter(count.values()).most_common(1)[0][0]
        to = {guid: Counter(it.high for it in fabric.up.get(guid, ())) for guid in peers}
        common: Counter[int] = Counter()
        for each in to.values():
            common.update(each.keys())
        for guid in sorted(peers, key=fabric.name):
            if count[guid] >= usual:
                continue
            absent = [
                fabric.name(high)
                for high, times in common.items()
                if times * 2 > len(peers) and high not in to[guid]
            ]
            none = f", none to {', '.join(sorted(absent))}" if absent else ""
            yield Finding(
                "missing link",
                fabric.name(guid),
                f"{count[guid]} uplinks, where its peers have {usual}{none}",
            )


def _slow(fabric: Fabric) -> Iterator[Finding]:
    layers: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in fabric.links:
        layers[fabric.levels[link.low], fabric.levels[link.high]].append(link)
    for links in layers.values():
        usual = Counter(link.rate for link in links if link.rate).most_common(1)
        for link in links:
            if usual and usual[0][0] and link.rate and link.gbps < usual[0][0].gbps:
                yield Finding("slow link", _cable(fabric, link), f"{link.rate}, not {usual[0][0]}")
    usual_rate = Counter(port.rate for port in fabric.ports if port.rate).most_common(1)
    for port in fabric.ports:
        usual_gbps = usual_rate[0][0].gbps if usual_rate and usual_rate[0][0] else 0.0
        if port.rate and port.rate.gbps < usual_gbps:
            where = f"{port.host} {port.hca}[{port.port}]".replace(" [", "[")
            yield Finding("slow link", where, f"{port.rate}, not {usual_rate[0][0]}")


def _rails(fabric: Fabric) -> Iterator[Finding]:
    for unit in fabric.units:
        if len(unit.leaves) < 2:
            continue
        rail_of = {}
        for leaf in unit.leaves:
            votes = Counter(port.rail for port in fabric.ports_of_leaf[leaf])
            rail, count = votes.most_common(1)[0]
            if count * 2 > votes.total():
                rail_of[leaf] = rail
        if len(set(rail_of.values())) < 2:
            continue
        leaf_of = {rail: leaf for leaf, rail in rail_of.items()}
        for host in unit.hosts:
            for port in fabric.hosts[host]:
                if port.rail in leaf_of and rail_of.get(port.leaf) != port.rail:
                    yield Finding(
                        "wrong rail",
                        f"{host} {port.hca}".rstrip(),
                        f"rail {port.rail} on {fabric.name(port.leaf)}[{port.leaf_port}], where "
                        f"the unit's rail {port.rail} is {fabric.name(leaf_of[port.rail])}",
                    )


def _lids(fabric: Fabric) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    bare = 0
    lids = [(it.lid, f"{it.host} {it.hca}".rstrip()) for it in fabric.ports]
    lids += [(it.lid, it.name) for it in fabric.switches.values()]
    for lid, name in lids:
        if not lid:
            bare += 1
        elif lid in seen:
            yield Finding("lid", name, f"LID {lid} is also that of {seen[lid]}")
        else:
            seen[lid] = name
    if bare:
        yield Finding("lid", "fabric", f"{bare} ports have no LID: no subnet manager has run")


def _unreached(fabric: Fabric, usage: Usage) -> Iterator[Finding]:
    names = {port.lid: f"{port.host} {port.hca}".rstrip() for port in fabric.ports}
    for it in usage.broken:
        yield Finding(
            "unreached",
            fabric.name(it.leaf),
            f"no path to {names[it.lid]} (LID {it.lid}): {it.why}",
        )
    if usage.unreached:
        yield Finding(
            "unreached", "fabric", f"{usage.unreached} of {usage.pairs} pairs have no path"
        )


def _credit_loop(fabric: Fabric, usage: Usage) -> Iterator[Finding]:
    if usage.credit_loop:
        ring = [_end(fabric, guid, port) for guid, port in usage.credit_loop]
        shown = ring if len(ring) <= 8 else [*ring[:8], f"and {len(ring) - 8} more"]
        yield Finding("credit loop", ring[0], "buffers wait in a ring: " + ", ".join(shown))


def _unbalanced(fabric: Fabric, routes: Routes, usage: Usage) -> Iterator[Finding]:
    layers: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for link in fabric.links:
        low, high = fabric.levels[link.low], fabric.levels[link.high]
        layers[low, high].append(
            (usage.load.get((link.low, link.low_port), 0), link.low, link.low_port)
        )
        layers[high, low].append(
            (usage.load.get((link.high, link.high_port), 0), link.high, link.high_port)
        )
    for (start, end), loads in sorted(layers.items()):
        mean = sum(load for load, _, _ in loads) / len(loads)
        most, guid, port = max(loads)
        idle = sum(not load for load, _, _ in loads)
        if most > _UNEVEN * mean:
            yield Finding(
                "unbalanced",
                _end(fabric, guid, port),
                f"{most} paths from level {start} to {end}, where the mean is {mean:.0f} and "
                f"{idle} of {len(loads)} cables carry none",
            )
