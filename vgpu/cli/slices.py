# SPDX-License-Identifier: Apache-2.0
"""create, list, show, rm."""

from functools import partial
from typing import Any

import click

from vgpu.cli.output import say, table
from vgpu.errors import UsageError, VgpuError
from vgpu.manager import Manager
from vgpu.model import Slice, SliceRequest, SliceSpec, Tenant
from vgpu.units import format_size, parse_size


def to_json(found: object) -> str:
    import json

    return json.dumps(found, indent=2)


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON; sizes are bytes.")


@click.command()
@click.argument("name")
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    required=True,
    metavar="GPU",
    help="Index, UUID or PCI address of a GPU; once for each.",
)
@click.option(
    "--memory",
    "memories",
    multiple=True,
    required=True,
    metavar="SIZE",
    help="Memory of the GPU named at the same place: 4GiB, 512MiB.",
)
@click.option("--overcommit", is_flag=True, help="Let limits sum above what the GPU has.")
@as_json
def create(
    name: str, gpus: tuple[str, ...], memories: tuple[str, ...], overcommit: bool, as_json: bool
) -> None:
    """Make the tenant NAME with a slice of each GPU named.

    The first GPU is /dev/nvidia0 in its containers, whatever the host's number.
    """
    if len(gpus) != len(memories):
        raise UsageError(
            f"{len(gpus)} --gpu and {len(memories)} --memory", "write one --memory for each --gpu"
        )
    requests = [
        SliceRequest(gpu, parse_size(memory)) for gpu, memory in zip(gpus, memories, strict=True)
    ]
    specs = Manager().create(name, requests, overcommit=overcommit, note=partial(say, "Note"))
    if as_json:
        click.echo(to_json({"name": name, "gpus": [_created(spec) for spec in specs]}))
    else:
        for spec in specs:
            click.echo(f"{name}: {format_size(spec.memory_max)} of GPU {spec.gpu.index}")


def _created(spec: SliceSpec) -> dict[str, Any]:
    return {"gpu": spec.gpu.index, "uuid": spec.gpu.id.uuid, "memory_max": spec.memory_max}


@click.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List tenants and what they use of each GPU."""
    manager = Manager()
    tenants = manager.list()
    indexes = manager.indexes() if tenants else {}
    if as_json:
        found = [
            {"name": it.name, "gpus": [_usage(piece, indexes) for piece in it.slices]}
            for it in tenants
        ]
        click.echo(to_json(found))
        return
    rows = [
        (
            tenant.name,
            _index(piece, indexes),
            format_size(piece.memory_max),
            format_size(piece.memory_current),
            format_size(piece.memory_peak),
            str(piece.refusals),
        )
        for tenant in tenants
        for piece in tenant.slices
    ]
    click.echo(table(("NAME", "GPU", "MEMORY", "USED", "PEAK", "REFUSED"), rows))


def _usage(piece: Slice, indexes: dict[str, int]) -> dict[str, Any]:
    return {
        "gpu": indexes.get(piece.gpu.uuid),
        "uuid": piece.gpu.uuid,
        "memory_max": piece.memory_max,
        "memory_current": piece.memory_current,
        "memory_peak": piece.memory_peak,
        "refusals": piece.refusals,
    }


def _index(piece: Slice, indexes: dict[str, int]) -> str:
    return str(indexes.get(piece.gpu.uuid, piece.gpu.uuid))


@click.command()
@click.argument("name")
@as_json
def show(name: str, as_json: bool) -> None:
    """Show one tenant: memory by kind, open files, and whether its limits are enforced now.

    Exits with 1 and the reason when they are not: its nodes then cannot be opened.
    """
    manager = Manager()
    tenant = manager.show(name)
    indexes = manager.indexes()
    click.echo(to_json(_details(tenant, indexes)) if as_json else _page(tenant, indexes))
    if tenant.reason:
        raise VgpuError(
            f"{name}: not enforced, its nodes cannot be opened: {tenant.reason}", "see 'vgpu check'"
        )


def _details(tenant: Tenant, indexes: dict[str, int]) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "id": tenant.id,
        "files": tenant.files,
        "enforced": not tenant.reason,
        "reason": tenant.reason,
        "gpus": [
            _usage(piece, indexes)
            | {
                "node": f"/dev/nvidia{piece.index}",
                "pci": piece.pci,
                "memory_buffers": piece.memory_buffers,
                "memory_contexts": piece.memory_contexts,
                "memory_managed": piece.memory_managed,
            }
            for piece in tenant.slices
        ],
    }


def _page(tenant: Tenant, indexes: dict[str, int]) -> str:
    lines = [
        f"{tenant.name}",
        f"  enforced    {'no: ' + tenant.reason if tenant.reason else 'yes'}",
        f"  open files  {tenant.files}",
    ]
    for piece in tenant.slices:
        lines += [
            f"  /dev/nvidia{piece.index}: GPU {_index(piece, indexes)}, {piece.pci}",
            f"    memory    {format_size(piece.memory_current)} of {format_size(piece.memory_max)}",
            f"    buffers   {format_size(piece.memory_buffers)}",
            f"    contexts  {format_size(piece.memory_contexts)}",
            f"    managed   {format_size(piece.memory_managed)}",
            f"    peak      {format_size(piece.memory_peak)}",
            f"    refused   {piece.refusals}",
        ]
    return "\n".join(lines)


@click.command()
@click.argument("name")
def rm(name: str) -> None:
    """Remove a tenant. Refused while one of its files is open."""
    Manager().remove(name)
