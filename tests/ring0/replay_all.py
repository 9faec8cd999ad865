# SPDX-License-Identifier: Apache-2.0
"""Plays streams against the C that VGPU_NATIVE names; exit code 3 at the first one booked wrong."""

import sys

from ring0.module import Mismatch, replay
from ring0.native import EVER
from ring0.streams import recorded
from ring0.written import written

WRONG = 3


def main() -> int:
    streams = written()
    streams |= recorded()
    for name, stream in streams.items():
        if name not in written():
            stream.limit = EVER
        try:
            wrong = "" if replay(stream).empty() else "something is left at the end"
        except Mismatch as mismatch:
            wrong = str(mismatch)
        except (AssertionError, KeyError) as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            print(f"{name}: {wrong}")
            return WRONG
    return 0


if __name__ == "__main__":
    sys.exit(main())
