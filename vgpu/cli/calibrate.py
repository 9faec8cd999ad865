# SPDX-License-Identifier: Apache-2.0
"""calibrate."""

import json

import click

from vgpu.manager import Manager
from vgpu.units import format_size


@click.command()
@click.option("--gpu", required=True, metavar="GPU", help="Index, UUID or PCI address of a GPU.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; sizes are bytes.")
def calibrate(gpu: str, as_json: bool) -> None:
    """Measure what the driver takes for channels and contexts of a GPU.

    They are charged to whoever makes them. The GPU has to be idle. The result is kept by driver
    version and model of the GPU; the first 'vgpu create' on a GPU does the same by itself.
    """
    found, calibration = Manager().calibrate(gpu)
    if as_json:
        result = {
            "gpu": found.index,
            "uuid": found.id.uuid,
            "channel_bytes": calibration.channel_bytes,
            "context_bytes": calibration.context_bytes,
        }
        click.echo(json.dumps(result, indent=2))
    else:
        click.echo(
            f"GPU {found.index}: {format_size(calibration.channel_bytes)} a channel,"
            f" {format_size(calibration.context_bytes)} a context"
        )
