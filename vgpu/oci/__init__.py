# SPDX-License-Identifier: Apache-2.0
"""Containers of the OCI runtime specification: data in, data out. Nothing here touches the host."""
