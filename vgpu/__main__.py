# SPDX-License-Identifier: Apache-2.0
from vgpu.cli.main import run

run()
