# SPDX-License-Identifier: Apache-2.0
"""Why a request fits nowhere, in one line."""

import numpy as np

from vgpu.pool.placement.model import WHOLE, Cluster, Ints, Request


def _per_cent(share: int) -> str:
    return f"{share / 10:g} %"


def _gpus(count: int) -> str:
    return "no GPU has" if not count else "1 GPU has" if count == 1 else f"{count} GPUs have"


def why_not(cluster: Cluster, request: Request) -> str:
    """The first thing that nobody has; where each is there, which are not there together. Empty
    when the request fits."""
    every = np.arange(len(cluster.nodes))
    allowed = cluster.allowed(request.models)
    if (cluster.fits(request, every) & allowed).any():
        return ""
    if not allowed.any():
        have = ", ".join(it for it in cluster.models if it) or "none"
        return f"no node has a GPU of {', '.join(sorted(request.models))}: there are {have}"
    rows = np.flatnonzero(allowed)
    if request.gpus:
        told = _on_gpus(cluster, request, rows)
        if told:
            return told
    for name, free, wanted, unit in (
        ("CPU", cluster.cpu[rows], request.cpu, "thousandths"),
        ("host memory", cluster.memory[rows], request.memory, "MiB"),
    ):
        if (free < wanted).all():
            return f"no node has the {name}: {wanted} {unit} asked, {free.max()} free at most"
    good = cluster.usable(request, rows).sum(axis=1) >= request.gpus
    short = [
        f"{int((good & (free < wanted)).sum())} lack {name}"
        for name, free, wanted in (
            ("CPU", cluster.cpu[rows], request.cpu),
            ("host memory", cluster.memory[rows], request.memory),
        )
        if (good & (free < wanted)).any()
    ]
    return f"{int(good.sum())} nodes have the GPUs, of them {' and '.join(short)}"


def _on_gpus(cluster: Cluster, request: Request, rows: Ints) -> str:
    real = np.arange(cluster.free.shape[1]) < cluster.gpu_count[rows][:, None]
    share = real & (cluster.free[rows] >= request.share)
    memory = real & (cluster.gpu_free[rows] >= request.gpu_memory)
    both = share & memory
    if (both.sum(axis=1) >= request.gpus).any():
        return ""
    if request.gpus > 1:
        most = int(cluster.gpu_count[rows].max())
        if most < request.gpus:
            return f"no node has {request.gpus} GPUs: the largest has {most}"
        free = int(both.sum(axis=1).max())
        return f"no node has {request.gpus} GPUs free: {free} at most"
    if not request.gpu_memory:
        largest = int(cluster.free[rows].max())
        return (
            f"no GPU has share: {_per_cent(request.share)} asked, {_per_cent(largest)} free at most"
        )
    if not memory.any():
        largest = int(cluster.gpu_free[rows].max())
        return f"no GPU has memory: {request.gpu_memory} MiB asked, {largest} MiB free at most"
    if not share.any():
        among = int(np.where(memory, cluster.free[rows], 0).max())
        return f"{_gpus(int(memory.sum()))} memory, none has share: largest free {_per_cent(among)}"
    return f"{_gpus(int(memory.sum()))} memory and {_gpus(int(share.sum()))} share, none has both"


def in_words(request: Request) -> str:
    if not request.gpus:
        return "no GPU"
    if request.share < WHOLE:
        return f"{_per_cent(request.share)} of a GPU"
    return f"{request.gpus} GPU" + ("s" if request.gpus > 1 else "")
