#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command again and again and kills each run (SIGKILL) at a random moment of its life.

kill.py ROUNDS SEED COMMAND...

The first run is left to end, to learn how long a life is. A line of JSON at the end says how many
were killed and how many ended before.
"""

import json
import random
import signal
import subprocess
import sys
import time

rounds, seed, *command = sys.argv[1:]
moments = random.Random(int(seed))
begin = time.monotonic()
subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
life = time.monotonic() - begin
killed = 0
for _ in range(int(rounds)):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        process.wait(moments.uniform(0, life))
    except subprocess.TimeoutExpired:
        process.kill()
    killed += process.wait() == -signal.SIGKILL
print(json.dumps({"killed": killed, "ended": int(rounds) - killed, "life_s": round(life, 3)}))
