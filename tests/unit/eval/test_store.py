"""The version of the code that stored runs are known by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.eval import store
from knowtrail.eval.store import EvalRun, code_version

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_changed_code_is_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that nobody committed makes a stored run another one."""
    code = tmp_path / "knowtrail" / "eval" / "metrics.py"
    code.parent.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef", "utf-8")
    monkeypatch.setattr(store, "_ROOT", tmp_path / "knowtrail")
    ids = []

    for text in ("low = 1", "low = 2", "low = 1"):
        code.write_text(text, "utf-8")
        code_version.cache_clear()
        ids.append((EvalRun(kind="fields", dataset="gold").id, code_version()))
    code_version.cache_clear()

    assert ids[0] == ids[2]
    assert ids[0][0] != ids[1][0]
    assert "+0123456789." in ids[0][1]
