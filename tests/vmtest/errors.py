# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as types."""

from __future__ import annotations


class VMError(Exception):
    """The guest could not be made or started; the text is fit for people, the hint is a remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class LostVM(VMError):
    """The guest went away or stopped answering: no verdict about the command."""

    def __init__(self, message: str, console: str = "") -> None:
        super().__init__(f"{message}\n{console}" if console else message)
        self.console = console


class CommandTimeout(VMError):
    """The command was killed after its time was over; the guest is well."""


class KernelComplaint(VMError):
    """The guest's kernel logged a warning, a bug or an oops."""
