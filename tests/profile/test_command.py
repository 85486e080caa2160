"""`pgs profile` as people and scripts use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config
from engine.memory.estimate import Estimate
from engine.profile.flags import flags_of
from engine.profile.measure import Measurement, MeasuringProgress, Tell
from engine.profile.measure_here import MeasuredHere
from tests.inspect.conftest import Pgs
from tests.profile.small_profile import ROWS, write_config
from tests.profile.test_comparison import MEASURED, TOO_LARGE

pytestmark = pytest.mark.usefixtures("no_gpu")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all, whose layers are traced once."""
    return write_config(tmp_path_factory.mktemp("config"))


def profile(pgs: Pgs, config: Path, *arguments: object) -> Any:
    return json.loads(pgs("profile", "--config", config, "--json", *arguments).out)


def test_the_verdict_comes_first_and_says_what_is_needed_and_free(pgs: Pgs, config: Path) -> None:
    said = pgs("profile", "--config", config, "--gpu", "4090")
    paragraphs = said.out.split("\n\n")
    assert said.code == 0
    assert "trains all" in paragraphs[0] and "RTX 4090" in paragraphs[0]
    assert paragraphs[1].startswith("fits: needs ")
    assert "of 23.5 GiB" in paragraphs[1]


def test_scripts_see_by_the_exit_code_whether_it_fits(pgs: Pgs, config: Path) -> None:
    needs = profile(pgs, config, "--gpu", "H200")["total_gib"]
    assert pgs("profile", "--config", config, "--gpu_memory_gb", needs + 0.01).code == 0
    too_small = pgs("profile", "--config", config, "--gpu_memory_gb", needs - 0.1)
    assert too_small.code == 1
    assert "does not fit" in too_small.out


def test_no_speed_is_told_for_float8_on_a_gpu_that_has_none(pgs: Pgs, config: Path) -> None:
    keys = ("--model.compile", "true", "--data.max_seq_length", "8192", "--gpu")
    float8 = ("a100-80", "--memory.float8_training", "true")
    plain, refused = (profile(pgs, config, *keys, *more) for more in (("a100-80",), float8))
    assert refused["work"]["tok_s"] == plain["work"]["tok_s"]
    assert any("without float8" in line for line in refused["work"]["assumptions"])
    assert any("refused there" in warning for warning in refused["verdict"]["warnings"])


def test_every_part_is_shown_and_they_sum_up_to_the_peak(pgs: Pgs, config: Path) -> None:
    found = profile(pgs, config, "--gpu", "4090")
    assert sum(found["components"].values()) == pytest.approx(found["peak_gib"])
    assert found["peak_gib"] == max(phase["peak_gib"] for phase in found["phases"])
    said = pgs("profile", "--config", config, "--gpu", "4090").out
    for name in (*found["components"], *(phase["name"].split()[-1] for phase in found["phases"])):
        assert name in said
    assert f"{found['decides']}*" in said


def test_without_a_gpu_it_lists_which_ones_it_fits(pgs: Pgs, config: Path) -> None:
    said = pgs("profile", "--config", config, "--train.per_device_batch_size", 64)
    found = profile(pgs, config, "--train.per_device_batch_size", 64)
    assert said.code == 0
    assert found["gpu"] is None and found["verdict"]["word"] == "unknown"
    words = {size["name"]: size["word"] for size in found["sizes"]}
    assert words["RTX 3060 12GB"] == "does not fit" and words["B200 180GB"] == "fits"
    assert "--gpu" in said.out.split("\n\n")[0]
    assert "does not fit:" in said.out and "B200 180GB" in said.out


def test_what_does_not_fit_comes_with_changes_whose_flags_make_it_fit(pgs: Pgs, config: Path) -> None:
    small = ("--gpu_memory_gb", 8)
    found = profile(pgs, config, *small, "--train.per_device_batch_size", 16)
    assert found["verdict"]["word"] == "does not fit"
    assert 1 <= len(found["changes"]) <= 3
    flags = flags_of({"train.per_device_batch_size": 16, **found["changes"][0]["keys"]})
    after = profile(pgs, config, *small, *flags)
    assert after["peak_gib"] == pytest.approx(found["changes"][0]["peak_gib"], abs=0.01)
    assert after["verdict"]["word"] != "does not fit"


def test_work_time_and_money(pgs: Pgs, config: Path) -> None:
    found = profile(pgs, config, "--gpu", "A100 80GB", "--price", 2)["work"]
    assert found["tokens_per_step"] == 4 * 1024
    assert (found["steps_per_epoch"], found["total_steps"]) == (-(-ROWS // 4), -(-2 * ROWS // 4))
    assert found["seconds"] == pytest.approx(found["seconds_per_step"] * found["total_steps"])
    assert found["dollars"] == pytest.approx(found["seconds"] / 3600 * 2)
    assert found["seconds_per_step"] == pytest.approx(found["tokens_per_step"] / found["tok_s"])
    said = pgs("profile", "--config", config, "--gpu", "A100 80GB", "--price", 2).out
    assert "tokens a second" in said and "at $2.00 an hour" in said


def test_assumptions_are_shown_when_asked_for(pgs: Pgs, config: Path) -> None:
    rests_on = profile(pgs, config, "--gpu", "4090")
    short, full = (pgs("profile", "--config", config, "--gpu", "4090", *more).out for more in ((), ("--full",)))
    plain = " ".join(full.split())
    for assumption in (*rests_on["assumptions"], *rests_on["work"]["assumptions"]):
        assert " ".join(assumption.split()) in plain
    assert "--full" in short and len(short) < len(full)


def test_data_that_is_not_here_is_no_obstacle(pgs: Pgs, tmp_path: Path) -> None:
    path = write_config(tmp_path, data={"dataset": str(tmp_path / "elsewhere.jsonl")})
    said = pgs("profile", "--config", path, "--gpu", "4090", "--full")
    assert said.code == 0
    assert "elsewhere.jsonl cannot be read" in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gpu", "RTX 9999"), "RTX 9999"),
        (("--gpu_index", 0), "no visible GPU of that number"),
        (("--train.optimizer", "sgd"), "sgd is not one of the choices"),
        (("--model.name_or_path", "./nowhere"), "there is no folder"),
        (("--measure", "--gpu", "4090"), "CUDA_VISIBLE_DEVICES chooses it"),
        (("--serve",), "--serve takes no other option"),
    ],
)
def test_what_is_wrong_is_told_in_words_with_code_2(pgs: Pgs, config: Path, arguments: Any, words: str) -> None:
    said = pgs("profile", "--config", config, *arguments)
    assert said.code == 2
    assert words in said.err and "Traceback" not in said.err
    assert said.out == ""


def test_it_needs_a_config_and_numbers_above_nothing(pgs: Pgs, config: Path) -> None:
    assert pgs("profile").code == 2
    for option in ("--gpu_memory_gb", "--price"):
        for value in ("0", "-3", "much", "nan", "inf"):
            with pytest.raises(SystemExit) as left:
                pgs("profile", "--config", config, option, value)
            assert left.value.code == 2


def test_measuring_without_a_gpu_is_refused_with_the_reason_before_any_estimate(
    pgs: Pgs, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.profile.command.profile_of", lambda *_: pytest.fail("estimated"))
    said = pgs("profile", "--config", config, "--measure")
    assert said.code == 1
    assert "--measure needs a GPU; there is none" in said.err


@pytest.mark.parametrize(("found", "code"), [(MEASURED, 0), (TOO_LARGE, 1)])
def test_what_was_measured_is_told_beside_the_estimate_and_decides(
    pgs: Pgs, config: Path, monkeypatch: pytest.MonkeyPatch, found: Measurement, code: int
) -> None:
    def measured(config: Config, estimate: Estimate, tell: Tell) -> MeasuredHere:
        tell(MeasuringProgress("step 1 of 3", 0))
        return MeasuredHere(found, "kept in a file")

    monkeypatch.setattr("engine.profile.gpu_to_measure.gpu_to_measure", lambda: None)
    monkeypatch.setattr("engine.profile.measure_here.measure_here", measured)
    said = pgs("profile", "--config", config, "--measure")
    assert said.code == code
    assert "Estimated and measured" in said.out
    assert "measuring: step 1 of 3" in said.err and "kept in a file" in said.err
    document = json.loads(pgs("profile", "--config", config, "--measure", "--json").out)["measured"]
    assert document["fits"] is found.fits and document["peak_gib"] == found.peak_gib
