# SPDX-License-Identifier: Apache-2.0
"""Slices of NVIDIA GPUs that the kernel enforces."""
