# SPDX-License-Identifier: Apache-2.0
"""Reads node and pod lists in the form of alibaba/clusterdata, cluster-trace-gpu-v2023."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vgpu.errors import VgpuError
from vgpu.pool.placement.model import WHOLE, NodeSpec, Request


@dataclass(frozen=True)
class Pod:
    request: Request
    created: int | None = None
    deleted: int | None = None


def _rows(path: Path, wanted: set[str]) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            missing = wanted - set(reader.fieldnames or ())
            if missing:
                raise VgpuError(
                    f"{path}:1: no column {', '.join(sorted(missing))}",
                    "the form is that of alibaba/clusterdata, cluster-trace-gpu-v2023",
                )
            for row in reader:
                yield reader.line_num, row
    except OSError as error:
        raise VgpuError(f"{path}: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise VgpuError(f"{path}: {error}") from error


def _number(path: Path, line: int, row: dict[str, str], name: str) -> int:
    text = row.get(name) or ""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise VgpuError(f"{path}:{line}: {name} is {text!r}, not a whole number")
    return value


def read_nodes(path: Path) -> list[NodeSpec]:
    nodes = []
    for line, row in _rows(path, {"sn", "cpu_milli", "memory_mib", "gpu", "model"}):
        cpu, memory, gpus = (
            _number(path, line, row, name) for name in ("cpu_milli", "memory_mib", "gpu")
        )
        nodes.append(NodeSpec(row["sn"], cpu, memory, gpus, row["model"] or ""))
    if not nodes:
        raise VgpuError(f"{path}: no node in it")
    return nodes


def read_pods(path: Path) -> list[Pod]:
    pods = []
    wanted = {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
    for line, row in _rows(path, wanted):
        cpu, memory, gpus, share = (
            _number(path, line, row, name)
            for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
        )
        if share > WHOLE or (gpus > 1 and share != WHOLE) or (gpus == 1 and not share):
            raise VgpuError(f"{path}:{line}: {gpus} GPUs with {share} thousandths of each")
        models = frozenset(it for it in (row.get("gpu_spec") or "").split("|") if it)
        times = [
            int(row[name]) if (row.get(name) or "").isdecimal() else None
            for name in ("creation_time", "deletion_time")
        ]
        request = Request(cpu, memory, gpus, share if gpus else 0, models=models)
        pods.append(Pod(request, *times))
    if not pods:
        raise VgpuError(f"{path}: no pod in it")
    return pods
