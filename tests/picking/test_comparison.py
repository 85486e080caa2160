"""What is told of two configs side by side."""

from pathlib import Path

from pgs_tui.picking.checking import check
from pgs_tui.picking.collection import Entry
from pgs_tui.picking.comparison import compared
from pgs_tui.picking.discovery import Found
from pgs_tui.profiling.shapes import Profile
from screens.picker.comparing import comparison_lines
from tests.picking.fake_profiler import GPU, answer
from tests.screens.picking import write_config


def entry(path: Path, total: float | None, tok_s: float = 8000.0) -> Entry:
    """A config that was read, and asked about where there is a sum."""
    made = Entry(Found(path, path.stem, "m"))
    made.take(check(path))
    if total is not None:
        made.estimate = Profile.of(answer(total, GPU, work={"tok_s": tok_s, "tokens_per_step": 4096}))
    return made


def test_keys_memory_and_speed(tmp_path: Path) -> None:
    one = entry(write_config(tmp_path / "one.yaml"), 14.0)
    other = entry(write_config(tmp_path / "other.yaml", batch=4, more="  learning_rate: 3e-6\n"), 20.0, 12000.0)
    found = compared(one, other)
    assert found.keys == (("train.per_device_batch_size", "2", "4"), ("train.learning_rate", "1e-05", "3e-06"))
    effects = {label.strip(): (left, right) for label, left, right in found.effects}
    assert effects["memory"] == ("14.0 GiB", "20.0 GiB") and effects["speed"] == ("8 000 tok/s", "12 000 tok/s")
    assert effects["kept activations"] == ("5.0 GiB", "11.0 GiB") and "weights" not in effects
    assert found.sentence == ("2 keys differ, other takes 6.0 GiB more and computes 1.50 times as many tokens a second")


def test_configs_of_one_size(tmp_path: Path) -> None:
    one, other = (entry(write_config(tmp_path / f"{name}.yaml"), 14.0) for name in ("one", "other"))
    assert compared(one, other).sentence.startswith("no key differs, other takes as much memory and computes 1.00")


def test_before_there_are_estimates_and_without_a_difference(tmp_path: Path) -> None:
    one, other = (entry(write_config(tmp_path / f"{name}.yaml"), None) for name in ("one", "other"))
    found = compared(one, other)
    assert (found.keys, found.sentence) == ((), "no key differs")
    assert ("memory", "…", "…") in found.effects
    other.trouble = "the hub does not answer"
    assert ("memory", "…", "–") in compared(one, other).effects


def test_every_width_shows_the_values(tmp_path: Path) -> None:
    one = entry(write_config(tmp_path / "one.yaml"), 14.0)
    other = entry(write_config(tmp_path / "other.yaml", length=65536), 20.0)
    for cells in (30, 56, 76, 116, 200):
        lines = comparison_lines(one, other, cells)
        text = "\n".join("".join(part for part, _ in row) for row in lines)
        assert all(word in text for word in ("data.max_seq_length", "65536", "14.0 GiB", "20.0 GiB")), cells
