# SPDX-License-Identifier: Apache-2.0
"""The real Slurm with the files that we write."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurmd
from click.testing import CliRunner
from fattree import Net, rails, three_level, two_level
from ibsim import wait_for

from vgpu.cli.slurm import slurm as command
from vgpu.errors import UsageError
from vgpu.pool.fabric.discovery import read_discovery
from vgpu.pool.fabric.export import slurm as topology
from vgpu.pool.fabric.graph import Fabric

needs_slurm = pytest.mark.skipif(bool(slurmd.missing()), reason=slurmd.missing())


@pytest.fixture(scope="module")
def munge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with slurmd.munge(tmp_path_factory.mktemp("munge")) as sock:
        yield sock


@needs_slurm
@pytest.mark.parametrize(
    ("net", "levels", "first"),
    [
        (two_level(4), [4, 1], "n[1-18]"),
        (three_level(16), [128, 16, 1], "n[1-8]"),
        (rails(2, 8, 4, 4), [2, 1], "n[1-8]"),
    ],
    ids=["72 hosts", "1024 hosts", "rails"],
)
def test_topology(net: Net, levels: list[int], first: str, munge: Path, tmp_path: Path) -> None:
    fabric = Fabric(read_discovery(net.text().splitlines(), "net"))
    (tmp_path / "topology.conf").write_text(topology(fabric))
    nodes = [f"NodeName=n[1-{len(fabric.hosts)}]"]
    with slurmd.slurm(tmp_path, munge, nodes, "TopologyPlugin=topology/tree") as cluster:
        told = cluster.call("scontrol", "show", "topology").stdout.splitlines()
    found = [int(it[1]) for line in told if (it := re.search(r"Level=(\d+)", line))]
    assert [found.count(level) for level in range(len(levels))] == levels
    assert f"Nodes={first}" in told[0]
    told_of = cluster.log.replace(str(tmp_path), "")
    assert not re.search(r"error.*(topology|switch)", told_of, re.I)


def write(folder: Path, *more: str) -> None:
    args = ["generate", "--nodes", "n[1-2]:4:H100", "--nodes", "n3:1:t4", "-o", str(folder), *more]
    found = CliRunner().invoke(command, args)
    assert found.exit_code == 0, found.exception


def test_files(tmp_path: Path) -> None:
    (tmp_path / "fabric").write_text(two_level(2, radix=4).text())
    write(tmp_path / "out", "--fabric", str(tmp_path / "fabric"))
    assert sorted(it.name for it in (tmp_path / "out").iterdir()) == [
        "gres.conf",
        "job_submit.lua",
        "topology.conf",
        "vgpu.conf",
    ]
    gres = (tmp_path / "out/gres.conf").read_text().splitlines()[1:]
    assert len(gres) == 10
    assert gres[4] == "NodeName=n[1-2] Name=shard Type=h100 Count=100 File=/dev/nvidia0"
    conf = (tmp_path / "out/vgpu.conf").read_text()
    assert "TopologyPlugin=topology/tree" in conf
    assert "NodeName=n[1-2] Gres=gpu:h100:4,shard:h100:400" in conf


@pytest.mark.parametrize("kind", ["n1", "n1:0:a", "n1:4:", ":4:a", "n1:x:a", "n1:4:a b"])
def test_kinds_that_make_no_sense(kind: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(command, ["generate", "--nodes", kind, "-o", str(tmp_path)])
    assert isinstance(found.exception, UsageError)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, munge: Path) -> Iterator[slurmd.Slurm]:
    """Two nodes of four GPUs, one of one: char nodes of /dev/null stand for the GPUs."""
    folder = tmp_path_factory.mktemp("slurm")
    for number in range(4):
        os.mknod(folder / f"nvidia{number}", 0o20666, os.makedev(1, 3))
    write(folder, "--device", str(folder / "nvidia"))
    shape = "CPUs=16 RealMemory=1000"
    nodes = [f"NodeName=n{it} {shape} Gres=gpu:h100:4,shard:h100:400" for it in (1, 2)]
    nodes.append(f"NodeName=n3 {shape} Gres=gpu:t4:1,shard:t4:100")
    more = f"Include {folder}/vgpu.conf\nSelectTypeParameters=CR_Core"
    with slurmd.slurm(folder, munge, nodes, more, start=["n1", "n2", "n3"]) as found:
        yield found


def submit(cluster: slurmd.Slurm, *args: str) -> str:
    done = cluster.call("sbatch", "--parsable", "-o", "/dev/null", *args, "--wrap", "sleep 600")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def job(cluster: slurmd.Slurm, number: str) -> str:
    return cluster.call("scontrol", "-d", "show", "job", number).stdout


@needs_slurm
def test_shares_are_packed_by_gpu(cluster: slurmd.Slurm) -> None:
    """Nine jobs of 60 % take nine GPUs; the tenth waits, though 360 % are free; 40 % still fit."""
    jobs = [submit(cluster, "--gres=shard:60") for _ in range(9)]
    try:
        wait_for(lambda: all("JobState=RUNNING" in job(cluster, it) for it in jobs), 60)
        places = set()
        for it in jobs:
            text = job(cluster, it)
            node = re.search(r" Nodes=(\S+) .*GRES=shard:\w+:60\(IDX:(\d)\)", text)
            assert node, text
            places.add((node[1], node[2]))
        assert len(places) == 9
        jobs.append(submit(cluster, "--gres=shard:60"))
        jobs.append(submit(cluster, "--gres=shard:40"))
        wait_for(lambda: "JobState=RUNNING" in job(cluster, jobs[10]), 60)
        assert "JobState=PENDING" in job(cluster, jobs[9])
        cluster.call("scancel", jobs[0])
        wait_for(lambda: "JobState=RUNNING" in job(cluster, jobs[9]), 60)
    finally:
        cluster.call("scancel", *jobs)


@needs_slurm
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--gres=shard:101"], "101 shards are more than one GPU has (100)"),
        (["--gres=shard:h100:500"], "500 shards are more than one GPU has (100)"),
        (["--gres=shard:v100:10"], "no node has a GPU of model v100: there are h100, t4"),
        (["--gres=gpu:5"], "no node has 5 GPUs: the largest has 4"),
        (["--gres=gpu:t4:2"], "no node has 2 GPUs: the largest has 1"),
        (["--gpus-per-node=h100:8"], "no node has 8 GPUs: the largest has 4"),
    ],
)
def test_what_can_never_start_is_refused(cluster: slurmd.Slurm, args: list[str], told: str) -> None:
    done = cluster.call("sbatch", "-o", "/dev/null", *args, "--wrap", "true")
    assert done.returncode != 0
    assert f"vgpu: {told}" in done.stderr


@needs_slurm
def test_what_can_start_is_not_refused(cluster: slurmd.Slurm) -> None:
    for args in ([], ["--gres=shard:100"], ["--gres=gpu:H100:4"], ["-N2", "--gpus=8"]):
        done = cluster.call("sbatch", "-H", "-o", "/dev/null", *args, "--wrap", "true")
        assert done.returncode == 0, (args, done.stderr)
        cluster.call("scancel", done.stdout.split()[-1])
