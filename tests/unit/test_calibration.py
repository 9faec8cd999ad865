# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import GPUS

from vgpu import calibration
from vgpu.errors import VgpuError
from vgpu.model import Calibration


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "below" / "calibration.json"
    monkeypatch.setattr(calibration, "PATH", str(found))
    return found


def test_kept_by_driver_and_model() -> None:
    assert calibration.kept("535.1", "A") is None
    calibration.keep("535.1", "A", Calibration(1, 2))
    calibration.keep("535.1", "B", Calibration(3, 4))
    calibration.keep("535.2", "A", Calibration(5, 6))
    assert calibration.kept("535.1", "A") == Calibration(1, 2)
    assert calibration.kept("535.1", "B") == Calibration(3, 4)
    assert calibration.kept("535.2", "A") == Calibration(5, 6)
    assert calibration.kept("535.2", "B") is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"535.1": 7}',
        '{"535.1": {"A": {}}}',
        '{"535.1": {"A": {"channel_bytes": -1, "context_bytes": 2}}}',
        '{"535.1": {"A": {"channel_bytes": "1", "context_bytes": 2}}}',
        '{"535.1": {"A": {"channel_bytes": 1, "context_bytes": 2, "more": 3}}}',
    ],
)
def test_a_broken_file_is_no_file(path: Path, content: str) -> None:
    path.parent.mkdir()
    path.write_text(content)
    assert calibration.kept("535.1", "A") is None


def test_no_such_gpu() -> None:
    nowhere = replace(GPUS[0], pci="ffff:ff:1f.0")
    with pytest.raises(VgpuError, match=r"GPU 0 cannot be measured: .*no such"):
        calibration.measure(nowhere)


def test_busy_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    results = iter([Calibration(1, 2), Calibration(1, 3)])
    monkeypatch.setattr(calibration, "_once", lambda gpu: next(results))
    with pytest.raises(VgpuError, match="other programs use it"):
        calibration.measure(GPUS[0])
