# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

for module in ("networkx", "numpy", "ortools"):
    pytest.importorskip(module, reason="needs the extra 'pool': pip install -e '.[pool]'")
