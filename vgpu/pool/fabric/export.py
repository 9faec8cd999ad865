# SPDX-License-Identifier: Apache-2.0
"""The fabric in the words of the schedulers that place jobs on it. They all want a tree in which a
host has one place: leaves that serve the same hosts by rail become one unit."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from vgpu.errors import VgpuError
from vgpu.pool.fabric.graph import Fabric, natural

KUEUE_LABEL = "fabric.vgpu.io"
TOPOGRAPH_LABEL = "network.topology.nvidia.com"


@dataclass
class Place:
    """A node of the tree. tier 0 holds hosts, the others hold places."""

    name: str
    tier: int
    hosts: list[str] = field(default_factory=list)
    below: list["Place"] = field(default_factory=list)


def tree(fabric: Fabric) -> Place:
    taken: set[str] = set()

    def unique(name: str) -> str:
        clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-_.") or "switch"
        number, found = 1, clean
        while found in taken:
            number += 1
            found = f"{clean}-{number}"
        taken.add(found)
        return found

    places: list[tuple[set[int], Place]] = []
    for unit in fabric.units:
        names = [fabric.name(leaf) for leaf in unit.leaves]
        name = names[0] if len(names) == 1 else _stem(names[0], names[-1]) or "unit"
        if unit.hosts:
            hosts = sorted(unit.hosts, key=natural)
            places.append((set(unit.leaves), Place(unique(name), 0, hosts=hosts)))
    if not places:
        raise VgpuError(f"{fabric.discovery.source}: no host hangs on a switch")
    tier = 0
    words = ["block", "core", "core"]
    for parts in fabric.domains():
        groups = [[it for it in places if it[0] & part] for part in parts]
        groups = [group for group in groups if group]
        if len(groups) == len(places):
            continue
        tier += 1
        word = words[min(tier - 1, 2)]
        merged = []
        for number, group in enumerate(groups, 1):
            name = unique(word if len(groups) == 1 else f"{word}{number}")
            leaves = set().union(*(leaves for leaves, _ in group))
            merged.append((leaves, Place(name, tier, below=[place for _, place in group])))
        places = merged
    if len(places) == 1:
        return places[0][1]
    return Place(unique("fabric"), tier + 1, below=[place for _, place in places])


def _stem(a: str, b: str) -> str:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return a[:same].rstrip("-_. ")


def walk(place: Place) -> Iterator[Place]:
    for below in place.below:
        yield from walk(below)
    yield place


def fold(names: list[str]) -> str:
    """n1,n2,n3,n7 as n[1-3,7], the way Slurm writes host lists."""
    groups: dict[tuple[str, int], list[str]] = {}
    plain = []
    split = {name: re.fullmatch(r"(.*?)(\d{1,18})", name) for name in names}
    padded = {(it[1], len(it[2])) for it in split.values() if it and it[2].startswith("0")}
    for name, found in split.items():
        if found:
            width = len(found[2]) if (found[1], len(found[2])) in padded else 0
            groups.setdefault((found[1], width), []).append(found[2])
        else:
            plain.append(name)
    folded = []
    for (stem, width), texts in groups.items():
        numbers = sorted(int(text) for text in texts)
        if len(numbers) == 1:
            folded.append(f"{stem}{numbers[0]:0{width}d}")
            continue
        spans: list[list[int]] = []
        for number in numbers:
            if spans and number == spans[-1][1] + 1:
                spans[-1][1] = number
            else:
                spans.append([number, number])
        shown = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in spans]
        folded.append(f"{stem}[{','.join(shown)}]")
    return ",".join([*folded, *plain])


def slurm(fabric: Fabric) -> str:
    lines = ["# topology.conf for TopologyPlugin=topology/tree"]
    for place in sorted(walk(tree(fabric)), key=lambda it: it.tier):
        if place.hosts:
            lines.append(f"SwitchName={place.name} Nodes={fold(place.hosts)}")
        else:
            below = fold([it.name for it in place.below])
            lines.append(f"SwitchName={place.name} Switches={below}")
    return "\n".join(lines) + "\n"


def _paths(place: Place, above: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each host with the places above it, the widest first."""
    path = (*above, place.name)
    for host in place.hosts:
        yield host, path
    for below in place.below:
        yield from _paths(below, path)


def _list(items: list[dict[str, object]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1) + "\n"


def _labels(fabric: Fabric, keys: Callable[[int], list[str]]) -> list[dict[str, object]]:
    found = list(_paths(tree(fabric)))
    depth = max(len(path) for _, path in found)
    names = keys(depth)
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": host,
                "labels": dict(zip(names[depth - len(path) :], path, strict=True)),
            },
        }
        for host, path in found
    ]


def _tiers(depth: int) -> list[str]:
    return [f"{KUEUE_LABEL}/tier-{tier}" for tier in reversed(range(depth))]


def _topology(fabric: Fabric, version: str) -> str:
    root = tree(fabric)
    levels = [{"nodeLabel": label} for label in _tiers(root.tier + 1)]
    levels.append({"nodeLabel": "kubernetes.io/hostname"})
    topology: dict[str, object] = {
        "apiVersion": version,
        "kind": "Topology",
        "metadata": {"name": "fabric"},
        "spec": {"levels": levels},
    }
    return _list([topology, *_labels(fabric, _tiers)])


def kueue(fabric: Fabric) -> str:
    return _topology(fabric, "kueue.x-k8s.io/v1beta1")


def kai(fabric: Fabric) -> str:
    return _topology(fabric, "kai.scheduler/v1alpha1")


def topograph(fabric: Fabric) -> str:
    """The labels that topograph would set: leaf, spine, core from the host up."""

    def keys(depth: int) -> list[str]:
        words = ["leaf", "spine", "core"]
        if depth > len(words):
            raise VgpuError(f"{depth} levels of switches, and topograph's labels name three")
        return [f"{TOPOGRAPH_LABEL}/{word}" for word in reversed(words[:depth])]

    return _list(_labels(fabric, keys))


def volcano(fabric: Fabric) -> str:
    items: list[dict[str, object]] = []
    for place in walk(tree(fabric)):
        kind = "Node" if place.hosts else "HyperNode"
        names = place.hosts or [_dns(it.name) for it in place.below]
        items.append(
            {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                "metadata": {"name": _dns(place.name)},
                "spec": {
                    "tier": place.tier + 1,
                    "members": [
                        {"type": kind, "selector": {"exactMatch": {"name": name}}} for name in names
                    ],
                },
            }
        )
    return _list(items)


def _dns(name: str) -> str:
    return name.lower().replace("_", "-")


FORMATS: dict[str, Callable[[Fabric], str]] = {
    "slurm": slurm,
    "kueue": kueue,
    "volcano": volcano,
    "kai": kai,
    "topograph": topograph,
}
