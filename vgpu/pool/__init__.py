# SPDX-License-Identifier: Apache-2.0
"""Many machines: the fabric between them and where on them a job goes. Needs the extra "pool"."""
