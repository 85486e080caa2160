"""Estimate and measurement side by side."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engine.profile.comparison import compare, comparison_lines, measured_document, sentence
from engine.profile.measure import Measurement
from tests.profile.small_estimate import ESTIMATE

MEASURED = Measurement(
    gpu="NVIDIA H200",
    driver="580.1",
    torch="2.11.0",
    peak_gib=14.2,
    reserved_gib=14.5,
    context_gib=0.6,
    components={"weights": 8.0, "optimizer state": 4.0},
    seconds_per_step=0.5,
    tok_s=8192.0,
    tokens_per_step=4096,
)
ON_CPU = replace(
    MEASURED,
    gpu=None,
    peak_gib=None,
    reserved_gib=None,
    context_gib=None,
    components={"weights": 8.0, "gradients": 1.0},
)
TOO_LARGE = Measurement(gpu="NVIDIA H200", driver=None, torch="2.11.0", fits=False, reason="Out of memory at step 1.")


def test_every_measured_part_stands_beside_its_estimate() -> None:
    rows = {one.name: one for one in compare(ESTIMATE, MEASURED)}
    assert list(rows) == ["weights", "optimizer state", "besides, at the peak", "peak", "reserved", "CUDA context"]
    assert rows["weights"].difference == 0
    assert rows["besides, at the peak"].measured == pytest.approx(2.2)
    assert rows["besides, at the peak"].estimated == pytest.approx(2.0)
    assert rows["peak"].difference == pytest.approx(-0.2 / 14.2)
    assert rows["reserved"].difference == pytest.approx(0.5 / 14.5)


def test_without_a_gpu_there_are_the_sizes_that_need_none() -> None:
    assert [(one.name, one.difference) for one in compare(ESTIMATE, ON_CPU)] == [("weights", 0.0), ("gradients", 0.0)]
    assert "without a GPU" in sentence(ESTIMATE, ON_CPU)


def test_the_table_is_aligned_and_narrow() -> None:
    lines = comparison_lines(compare(ESTIMATE, MEASURED))
    assert max(map(len, lines)) <= 62
    assert lines[4].split() == ["peak", "14.000", "14.200", "-1.4%"]
    assert {line.rindex(".", 0, 32) for line in lines[1:]} == {28}
    assert comparison_lines(compare(ESTIMATE, TOO_LARGE)) == []


def test_one_sentence_says_what_came_of_it() -> None:
    words = "measured: 14.20 GiB at the peak; 14.50 GiB reserved; the estimate of the peak was 1.4% less than that"
    assert sentence(ESTIMATE, MEASURED) == words
    assert sentence(ESTIMATE, replace(MEASURED, peak_gib=14.0)).endswith("the estimate of the peak was the same")
    assert sentence(ESTIMATE, TOO_LARGE) == "measured: does not fit. Out of memory at step 1."


@pytest.mark.parametrize("measured", [MEASURED, ON_CPU, TOO_LARGE])
def test_programs_get_all_of_it(measured: Measurement) -> None:
    found = json.loads(json.dumps(measured_document(ESTIMATE, measured), allow_nan=False))
    assert found["fits"] == measured.fits
    assert found["peak_gib"] == measured.peak_gib
    assert found["components"] == measured.components
    assert [row["name"] for row in found["compared"]] == [one.name for one in compare(ESTIMATE, measured)]
