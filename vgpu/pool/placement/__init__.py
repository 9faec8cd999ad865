# SPDX-License-Identifier: Apache-2.0
"""Where a job goes: one library for the simulator and for every engine that asks."""
