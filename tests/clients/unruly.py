#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client that frees what it has not got and asks for what there is not.

One JSON object at the end.

unruly.py SEED STEPS
"""

from __future__ import annotations

import json
import random
import sys

from nvrm import Client

MIB = 1 << 20
ABSURD = (0, 1, (1 << 64) - 1, (1 << 64) - 4096, 1 << 63, 1 << 40)

chance = random.Random(int(sys.argv[1]))
client = Client()
device = client.device()
held: dict[int, int] = {}
gone: list[int] = []
lowest = highest = None
for _ in range(int(sys.argv[2])):
    act = chance.randrange(6)
    if act < 2:
        ask = device.memory if chance.random() < 0.5 else device.heap
        handle, status, size = ask(chance.randrange(1, 32 * MIB), check=False)
        if not status:
            held[handle] = size
    elif act == 2:
        ask = device.memory if chance.random() < 0.5 else device.heap
        handle, status, size = ask(chance.choice(ABSURD), check=False)
        if not status:
            held[handle] = size
    elif act == 3 and held:
        handle = chance.choice(list(held))
        client.free(handle, device.handle)
        del held[handle]
        gone.append(handle)
    elif gone:
        client.free(chance.choice(gone), device.handle)
    free = device.free_bytes()
    lowest = free if lowest is None else min(lowest, free)
    highest = free if highest is None else max(highest, free)
total = device.fb_info(0x08)[0] << 10
print(json.dumps({"held": sum(held.values()), "free": free, "lowest": lowest, "highest": highest,
                  "total": total}), flush=True)  # fmt: skip
sys.stdin.read()
