# SPDX-License-Identifier: Apache-2.0
"""The replays notice a broken ledger: each mutant is compiled and must book something wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ring0.build import TREE, Builder
from ring0.mutants import MUTANTS
from ring0.replay_all import WRONG

HELPERS = str(Path(__file__).parent.parent)


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("mutants"))


def play(extension: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([HELPERS, str(TREE)])
    env = os.environ | {"VGPU_NATIVE": str(extension), "PYTHONPATH": path}
    command = [sys.executable, "-m", "ring0.replay_all"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


def test_what_is_not_broken_books_right(builder: Builder) -> None:
    done = play(builder.link("right"))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 16


@pytest.mark.parametrize("name", MUTANTS)
def test_a_replay_notices(name: str, builder: Builder, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    text = (TREE / mutant.file).read_text()
    assert text.count(mutant.right) == 1
    # The copy stands where its includes are found: headers are looked for beside the source first.
    broken = tmp_path / mutant.file
    broken.parent.mkdir(parents=True)
    for folder in ("core", "abi"):
        (tmp_path / "kmod" / folder).mkdir(exist_ok=True)
        for header in (TREE / "kmod" / folder).glob("*.h"):
            (tmp_path / "kmod" / folder / header.name).symlink_to(header)
    broken.write_text(text.replace(mutant.right, mutant.wrong))
    done = play(builder.link(name.replace(" ", "-"), {mutant.file: broken}))
    assert done.returncode == WRONG, f"{done.returncode}: {done.stdout}{done.stderr}"
    print(done.stdout)
