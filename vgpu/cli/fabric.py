# SPDX-License-Identifier: Apache-2.0
"""fabric."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vgpu.cli.output import table
from vgpu.errors import VgpuError

if TYPE_CHECKING:
    from vgpu.pool.fabric.graph import Fabric
    from vgpu.pool.fabric.routes import Routes, Usage


file_argument = click.argument("file", required=False, metavar="[FILE]")
tables_option = click.option(
    "--tables", metavar="FILE", help="Forwarding tables: opensm-lfts.dump, or output of dump_lfts."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def fabric() -> None:
    """An InfiniBand fabric: what hangs where, and what is wrong with it.

    FILE is the output of ibnetdiscover, - for standard input; without it ibnetdiscover is run.
    """


def _lines(name: str) -> list[str]:
    try:
        if name == "-":
            return sys.stdin.read().splitlines()
        return Path(name).read_text(errors="replace").splitlines()
    except OSError as error:
        raise VgpuError(f"{name}: {error.strerror}") from error


def _discover() -> list[str]:
    import subprocess

    try:
        done = subprocess.run(
            ["ibnetdiscover"], capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError as error:
        raise VgpuError(
            "ibnetdiscover is not installed", "install infiniband-diags, or name a saved file"
        ) from error
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise VgpuError(
            f"ibnetdiscover: {said[-1] if said else f'exit code {done.returncode}'}",
            "run it as root on a host with an InfiniBand port, or name a saved file",
        )
    return done.stdout.splitlines()


def load(file: str | None) -> "Fabric":
    try:
        from vgpu.pool.fabric.discovery import read_discovery
        from vgpu.pool.fabric.graph import Fabric
    except ModuleNotFoundError as error:
        raise VgpuError(
            f"the Python module {error.name} is not installed", "pip install 'vgpu[pool]'"
        ) from error
    lines = _discover() if file is None else _lines(file)
    return Fabric(read_discovery(lines, file or "ibnetdiscover"))


def _follow(fabric: "Fabric", tables: str | None) -> "tuple[Routes, Usage] | None":
    if tables is None:
        return None
    from vgpu.pool.fabric.routes import Routes
    from vgpu.pool.fabric.tables import read_tables

    routes = Routes(fabric, read_tables(_lines(tables), tables))
    return routes, routes.usage()


@fabric.command()
@file_argument
@tables_option
@json_option
def show(file: str | None, tables: str | None, as_json: bool) -> None:
    """Show levels, leaves, hosts and cables."""
    from vgpu.pool.fabric import report

    found = load(file)
    followed = _follow(found, tables)
    usage = followed[1] if followed else None
    if as_json:
        click.echo(json.dumps(report.as_json(found, usage), indent=1))
        return
    for line in report.page(found, usage):
        click.echo(line)
    click.echo()
    click.echo(table(report.LEAF_HEAD, report.leaf_rows(found)))


@fabric.command()
@file_argument
@tables_option
@json_option
def check(file: str | None, tables: str | None, as_json: bool) -> None:
    """Look for what is wrong; exit with 1 when something is.

    Without --tables only the cables are looked at.
    """
    from vgpu.pool.fabric import report
    from vgpu.pool.fabric.check import check as check_cables
    from vgpu.pool.fabric.check import check_routes

    found = load(file)
    followed = _follow(found, tables)
    findings = check_cables(found)
    if followed:
        findings += check_routes(found, *followed)
    if as_json:
        answer = {
            "ok": not findings,
            "findings": [vars(it) for it in findings],
            "routing": report.routing(followed[1]) if followed else None,
        }
        click.echo(json.dumps(answer, indent=1))
    else:
        for it in findings:
            click.echo(f"{it.kind}: {it.where}: {it.what}")
        if not findings:
            click.echo(f"{len(found.hosts)} hosts, {len(found.switches)} switches: nothing wrong")
    if findings:
        raise VgpuError(f"{len(findings)} findings")


@fabric.command()
@file_argument
@tables_option
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the SVG is written.")
def plot(file: str | None, tables: str | None, output: str) -> None:
    """Draw the fabric as SVG; with --tables, cables by the paths that they carry."""
    from vgpu.pool.fabric.plot import svg

    found = load(file)
    followed = _follow(found, tables)
    try:
        Path(output).write_text(svg(found, followed[1] if followed else None))
    except OSError as error:
        raise VgpuError(f"{output}: {error.strerror}") from error


@fabric.command()
@file_argument
@click.option("--slurm", "form", flag_value="slurm", help="topology.conf for topology/tree.")
@click.option("--kueue", "form", flag_value="kueue", help="Topology and labels of Kueue.")
@click.option("--volcano", "form", flag_value="volcano", help="HyperNodes of Volcano.")
@click.option("--kai", "form", flag_value="kai", help="Topology and labels of KAI Scheduler.")
@click.option("--topograph", "form", flag_value="topograph", help="Labels as topograph sets them.")
def export(file: str | None, form: str | None) -> None:
    """Print the fabric for a scheduler.

    For Kubernetes: kubectl apply --server-side -f -
    """
    from vgpu.errors import UsageError

    if form is None:
        raise UsageError("no format", "see 'vgpu fabric export --help'")
    found = load(file)
    from vgpu.pool.fabric.export import FORMATS

    click.echo(FORMATS[form](found), nl=False)
