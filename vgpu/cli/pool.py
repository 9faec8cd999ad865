# SPDX-License-Identifier: Apache-2.0
"""pool."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vgpu.cli.output import table
from vgpu.errors import UsageError, VgpuError

if TYPE_CHECKING:
    from vgpu.pool.placement.simulate import Run


@click.group()
def pool() -> None:
    """Many machines: where a job goes."""


def _seeds(text: str) -> list[int]:
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", text)
    if not found or int(found[2] or found[1]) < int(found[1]):
        raise UsageError(f"{text!r} is not a range of seeds", "write 42, or 42-51")
    return list(range(int(found[1]), int(found[2] or found[1]) + 1))


@pool.command()
@click.option(
    "--nodes", required=True, metavar="CSV", help="Nodes: sn,cpu_milli,memory_mib,gpu,..."
)
@click.option(
    "--pods", required=True, metavar="CSV", help="Requests: name,cpu_milli,memory_mib,..."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("vgpu",),
    type=click.Choice(("random", "bestfit", "fgd", "vgpu")),
    help="May be given several times.",
)
@click.option("--seeds", default="42", metavar="N[-M]", help="42-51 is what is published.")
@click.option("--arrivals", default=1.3, metavar="RATIO", help="GPUs asked for, over all GPUs.")
@click.option("--bound", is_flag=True, help="Also what no policy can exceed.")
@click.option("--plot", metavar="SVG", help="Draw allocation and fragmentation to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def simulate(
    nodes: str,
    pods: str,
    policies: tuple[str, ...],
    seeds: str,
    arrivals: float,
    bound: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Replay a trace: requests arrive in random order, are placed once and stay.

    The form of the files is that of alibaba/clusterdata, cluster-trace-gpu-v2023.
    """
    try:
        from vgpu.pool.placement.simulate import arrivals as draw
        from vgpu.pool.placement.simulate import run
        from vgpu.pool.placement.trace import read_nodes, read_pods
    except ModuleNotFoundError as error:
        raise VgpuError(
            f"the Python module {error.name} is not installed", "pip install 'vgpu[pool]'"
        ) from error
    if not 0 < arrivals <= 10:
        raise UsageError(f"arrivals of {arrivals}", "write a ratio above 0 and up to 10: 1.3")
    numbers = _seeds(seeds)
    hosts = read_nodes(Path(nodes))
    requests = [pod.request for pod in read_pods(Path(pods))]
    found = [
        _mean(policy, [run(hosts, requests, policy, seed, arrivals) for seed in numbers])
        for policy in dict.fromkeys(policies)
    ]
    limit = None
    if bound:
        from vgpu.pool.placement.bound import upper_bound

        capacity = sum(it.gpus for it in hosts) * 1000
        limits = [upper_bound(hosts, draw(requests, capacity, arrivals, it)) for it in numbers]
        limit = round(sum(limits) / len(limits), 2)
    if plot:
        from vgpu.pool.placement.plot import svg

        try:
            Path(plot).write_text(svg([(it["policy"], it.pop("curve")) for it in found]))
        except OSError as error:
            raise VgpuError(f"{plot}: {error.strerror}") from error
    for it in found:
        it.pop("curve", None)
        it["bound"] = limit
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    head = [
        key for key in found[0] if key not in ("seeds", "refusals") and (key != "bound" or bound)
    ]
    rows = [[_cell(it[key]) for key in head] for it in found]
    click.echo(table([it.upper() for it in head], rows))
    for it in found[-1]["refusals"]:
        click.echo(f"{it['times']} times {it['asked']} was refused; at the end {it['why']}")


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _mean(policy: str, runs: "list[Run]") -> dict[str, Any]:
    def mean(values: list[float | None]) -> float | None:
        kept = [it for it in values if it is not None]
        return round(sum(kept) / len(kept), 2) if kept else None

    from vgpu.pool.placement.simulate import ALLOC_AT, FRAG_AT

    curves = [run.curve for run in runs]
    length = min(map(len, curves))
    return {
        "policy": policy,
        "seeds": [run.seed for run in runs],
        **{f"alloc_at_{at}": mean([run.alloc.get(at) for run in runs]) for at in ALLOC_AT},
        **{f"frag_at_{at}": mean([run.frag.get(at) for run in runs]) for at in FRAG_AT},
        "refused": mean([float(run.refused) for run in runs]),
        "decision_ms": mean([1000 * run.seconds / max(run.decisions, 1) for run in runs]),
        "seconds": mean([run.seconds for run in runs]),
        "refusals": [
            {"asked": asked, "times": times, "why": why} for asked, times, why in runs[-1].refusals
        ],
        "curve": [
            tuple(sum(curve[at][it] for curve in curves) / len(curves) for it in range(3))
            for at in range(length)
        ],
    }
