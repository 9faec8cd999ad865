# SPDX-License-Identifier: Apache-2.0
"""The guest that vgpu is tested in: what is installed in it, and which modules it loads."""
