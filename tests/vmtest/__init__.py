# SPDX-License-Identifier: Apache-2.0
"""Virtual machines for tests: QEMU driven directly, an agent as PID 1, a snapshot to start from.

Three outcomes are kept apart: a command passed, a command failed, or the guest was lost
(:class:`LostVM`). A fourth, a kernel that complained while a command passed, is
:class:`KernelComplaint`.
"""

from .errors import CommandTimeout, KernelComplaint, LostVM, VMError
from .vm import VM, Machine, Process, Result

__all__ = [
    "VM",
    "CommandTimeout",
    "KernelComplaint",
    "LostVM",
    "Machine",
    "Process",
    "Result",
    "VMError",
]
