# SPDX-License-Identifier: Apache-2.0
"""slurm."""

from pathlib import Path

import click

from vgpu.errors import VgpuError


@click.group()
def slurm() -> None:
    """Shares of GPUs in Slurm."""


@slurm.command()
@click.option(
    "--nodes",
    "kinds",
    multiple=True,
    required=True,
    metavar="HOSTS:GPUS:MODEL",
    help="What nodes have: n[1-8]:4:h100; once for each kind.",
)
@click.option("--fabric", metavar="FILE", help="Output of ibnetdiscover, for topology.conf.")
@click.option(
    "--device", default="/dev/nvidia", metavar="PATH", help="Devices, without their number."
)
@click.option("-o", "--output", required=True, metavar="DIR", help="Where the files are written.")
def generate(kinds: tuple[str, ...], fabric: str | None, device: str, output: str) -> None:
    """Write gres.conf, vgpu.conf, job_submit.lua, and topology.conf where there is a fabric.

    A shard is one per cent of a GPU: srun --gres=shard:30 gets 30 % of one.
    """
    from vgpu.pool import slurm as form

    found = [form.parse_kind(text) for text in kinds]
    files = {
        "gres.conf": form.gres_conf(found, device),
        "vgpu.conf": form.slurm_conf(found, fabric is not None),
        "job_submit.lua": form.job_submit_lua(found),
    }
    if fabric is not None:
        from vgpu.cli.fabric import load
        from vgpu.pool.fabric.export import slurm as topology

        files["topology.conf"] = topology(load(fabric))
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
    except OSError as error:
        raise VgpuError(f"{error.filename}: {error.strerror}") from error
    click.echo(f"{output}: {', '.join(files)}")
