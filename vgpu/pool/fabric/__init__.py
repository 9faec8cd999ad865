# SPDX-License-Identifier: Apache-2.0
"""An InfiniBand fabric, read from what its own tools print."""
