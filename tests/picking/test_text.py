"""The list of configs as text."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from pgs_tui.picking.as_text import print_configs
from tests.screens.picking import write_folder


def test_the_list_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_folder(tmp_path)
    out = io.StringIO()
    assert print_configs(tmp_path, tmp_path / "none", out) == 0
    lines = out.getvalue().splitlines()
    assert lines[:3] == [
        "HuggingFaceTB/SmolLM2-135M",
        "  try.yaml     all weights, chats.jsonl, 2·4 × 2 048",
        "Qwen/Qwen3-4B",
    ]
    assert "  qwen/mixers  mixers, chats.jsonl, 2 × 2 048" in lines
    assert any(line.startswith("  typo         invalid: line 9: train.learning_rat: unknown key") for line in lines)
    assert lines[-1] == "other YAML files: 1"


def test_an_empty_folder(tmp_path: Path) -> None:
    out = io.StringIO()
    assert print_configs(tmp_path, tmp_path / "none", out) == 1
    assert "pgs-tui quickstart" in out.getvalue()


def test_who_reads_only_the_first_lines_sees_no_traceback(tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m pgs_tui | head -c 1"
    ended = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
