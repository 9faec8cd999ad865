# SPDX-License-Identifier: Apache-2.0
"""Replays a trace by the protocol that FGD was published with: requests drawn again until they ask
for so much of all GPUs, shuffled by a seed, placed once each, never removed."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from vgpu.pool.placement.explain import in_words, why_not
from vgpu.pool.placement.fragment import Usual
from vgpu.pool.placement.model import Cluster, NodeSpec, Request
from vgpu.pool.placement.policies import BestFit, Fgd, Policy, Random, Vgpu

ALLOC_AT = (90, 100, 130)
FRAG_AT = (80, 90, 95)
# Of so many kinds of requests that were refused, the most frequent ones, it is told why.
_TOLD = 5

# requests: what is known of the past, from which FGD and ours know what is usual.
Maker = Callable[[Cluster, Sequence[Request], int], Policy]
POLICIES: dict[str, Maker] = {
    "random": lambda cluster, requests, seed: Random(cluster, seed),
    "bestfit": lambda cluster, requests, seed: BestFit(cluster, seed),
    "fgd": lambda cluster, requests, seed: Fgd(cluster, Usual(requests, cluster)),
    "vgpu": lambda cluster, requests, seed: Vgpu(cluster, requests),
}


@dataclass
class Run:
    """Per cent of all GPUs, by per cent of all GPUs asked for so far."""

    policy: str
    seed: int
    alloc: dict[int, float] = field(default_factory=dict)
    frag: dict[int, float] = field(default_factory=dict)
    curve: list[tuple[float, float, float]] = field(default_factory=list)
    refused: int = 0
    refusals: list[tuple[str, int, str]] = field(default_factory=list)
    decisions: int = 0
    seconds: float = 0.0


def arrivals(requests: Sequence[Request], capacity: int, ratio: float, seed: int) -> list[Request]:
    random = np.random.default_rng(seed)
    target = ratio * capacity
    drawn = list(requests)
    asked = sum(it.total for it in drawn)
    while asked < target:
        it = requests[int(random.integers(len(requests)))]
        drawn.append(it)
        asked += it.total
    random.shuffle(drawn)
    return drawn


def run(
    nodes: Sequence[NodeSpec],
    requests: Sequence[Request],
    policy: str,
    seed: int,
    ratio: float = 1.3,
) -> Run:
    start = time.perf_counter()
    cluster = Cluster(nodes)
    usual = Usual(requests, cluster)
    chosen = POLICIES[policy](cluster, requests, seed)
    result = Run(policy, seed)
    asked, used, mark = 0, 0, 0
    refused: Counter[Request] = Counter()
    for request in arrivals(requests, cluster.capacity, ratio, seed):
        asked += request.total
        place = chosen.place(request)
        result.decisions += 1
        if place is None:
            refused[request] += 1
        else:
            cluster.take(request, place)
            used += request.total
        while asked * 100 >= (mark + 1) * cluster.capacity:
            mark += 1
            _note(result, cluster, usual, mark, used)
    if mark < ratio * 100:
        _note(result, cluster, usual, round(ratio * 100), used)
    result.seconds = time.perf_counter() - start
    result.refused = refused.total()
    result.refusals = [
        (in_words(request), times, why_not(cluster, request))
        for request, times in refused.most_common(_TOLD)
    ]
    return result


def _note(result: Run, cluster: Cluster, usual: Usual, mark: int, used: int) -> None:
    alloc = 100.0 * used / cluster.capacity
    if mark in ALLOC_AT:
        result.alloc[mark] = alloc
    free = int(cluster.free.sum())
    lost = float(usual.lost(cluster.cpu, cluster.free, cluster.model).sum())
    ratio = 100.0 * lost / free if free else 0.0
    if mark in FRAG_AT:
        result.frag[mark] = ratio
    result.curve.append((mark, alloc, ratio))
