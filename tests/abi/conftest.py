# SPDX-License-Identifier: Apache-2.0
import os
import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent.parent))

# Other work on the machine must not fail a test by being slow.
settings.register_profile("ring0", deadline=None)
settings.register_profile("short", deadline=None, max_examples=30)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ring0"))
