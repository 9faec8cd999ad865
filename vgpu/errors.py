# SPDX-License-Identifier: Apache-2.0
"""What can be expected to go wrong, in words for people: a fact, then what to do about it."""


class VgpuError(Exception):
    """Refused or failed. The command line prints it and exits with exit_code."""

    exit_code = 1

    def __init__(self, fact: str, hint: str | None = None) -> None:
        super().__init__(fact)
        self.fact = fact
        self.hint = hint


class UsageError(VgpuError):
    """What was asked makes no sense, whatever the state of the machine."""

    exit_code = 2
