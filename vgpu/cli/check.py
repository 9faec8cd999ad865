# SPDX-License-Identifier: Apache-2.0
"""check."""

import json

import click

from vgpu.manager import Manager, require_enforcement


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(as_json: bool) -> None:
    """Tell whether limits can be enforced on this host, and if not, why.

    Exits with 1 when they cannot.
    """
    info = Manager().info()
    if as_json:
        found = {
            "abi_version": info.abi_version,
            "driver": info.driver,
            "driver_state": info.driver_state.name.lower(),
            "enforced": info.driver_state.enforceable,
            "reason": info.reason,
            "tenants": info.tenants,
        }
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(f"module    loaded, interface {info.abi_version}, {info.tenants} tenants")
        click.echo(f"driver    {info.driver or 'none'}, {info.driver_state.name.lower()}")
        click.echo(f"enforced  {'yes' if info.driver_state.enforceable else 'no'}")
    require_enforcement(info)
