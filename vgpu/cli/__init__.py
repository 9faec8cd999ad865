# SPDX-License-Identifier: Apache-2.0
"""The vgpu command: parses, calls the manager, prints."""
