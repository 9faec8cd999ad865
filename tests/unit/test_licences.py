# SPDX-License-Identifier: Apache-2.0
"""Every file says its licence, and the one that its place asks for."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TAG = re.compile(r"SPDX-License-Identifier: ([^\n]+?)(?: ?\*/| ?-->)?$", re.M)

EITHER = "GPL-2.0-only OR MIT"
BY_PLACE = [
    ("kmod/include/uapi/", "(GPL-2.0-only WITH Linux-syscall-note) OR MIT"),
    ("kmod/core/", EITHER),
    ("kmod/abi/", EITHER),
    ("kmod/", "GPL-2.0-only"),
    ("", "Apache-2.0"),
]

# Texts for people, data in a form that has no comments, and what only lists names.
NO_TAG = {".json", ".jsonl", ".md", ".txt", ".typed", ".svg", ".gz", ".xz", ".zst"}
NO_TAG_NAMES = {".gitignore", ".editorconfig"}


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to it cannot be told")
    out = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout
    return [Path(name) for name in out.split("\0") if name and (ROOT / name).is_file()]


def expected(path: Path) -> str:
    return next(licence for place, licence in BY_PLACE if str(path).startswith(place))


def test_every_file_has_the_licence_of_its_place() -> None:
    wrong = []
    for path in tracked():
        if path.suffix in NO_TAG or path.name in NO_TAG_NAMES:
            continue
        head = "\n".join((ROOT / path).read_text().splitlines()[:5])
        found = TAG.search(head)
        if found is None or found[1] != expected(path):
            wrong.append(f"{path}: {found[1] if found else 'no tag'}, not {expected(path)}")
    assert not wrong, "\n".join(wrong)


def test_every_licence_has_its_text() -> None:
    words = {word for _, licence in BY_PLACE for word in re.findall(r"[\w.-]+", licence)}
    wanted = words - {"AND", "OR", "WITH"}
    assert wanted == {path.stem for path in (ROOT / "LICENSES").glob("*.txt")}
