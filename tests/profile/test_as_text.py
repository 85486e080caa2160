"""A profile as people read it, on all kinds of paper."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from engine.memory.advice.changes import Change
from engine.memory.advice.room import Holder, Room
from engine.memory.advice.verdict import judge
from engine.memory.advice.work import Work
from engine.printing.paper import Paper
from engine.printing.visible import Signs
from engine.profile.as_text import ProfilePrinter
from engine.profile.document import Fitting, Measured, Profile
from tests.profile.small_estimate import ESTIMATE
from tests.profile.test_comparison import MEASURED, TOO_LARGE

ROOM = Room("NVIDIA A100-SXM4-40GB", 39.4, 20.0, (Holder(4711, "python", 19.4),), index=0, note="GPU 0 of 2")
WORK = Work(4096, 1.06e14, 120, 240, 1500.0, 2.73, 655.2, 0.36, ("lines are taken as full",))
CHANGE = Change({"memory.layer_slices": 4, "train.max_grad_norm": None}, 12.0, 2.0, 0.9, "12.0 GiB in place of 14.0")
PROFILE = Profile("Qwen/Qwen3.5-4B", "some.yaml", ROOM, "", ESTIMATE, judge(ESTIMATE, ROOM), (CHANGE,), WORK, price=2.0)


def printed(
    profile: Profile, *, width: int | None = 80, plain: bool = False, colour: bool = False, full: bool = True
) -> str:
    out = io.StringIO()
    ProfilePrinter(Paper(out, Signs("utf-8", plain), colour, width), full).print(profile)
    return out.getvalue()


WITHOUT_GPU = replace(
    PROFILE,
    room=None,
    why_no_room="no GPU is known here",
    verdict=judge(ESTIMATE, None),
    sizes=tuple(Fitting(f"RTX {number}", 10.0, "fits" if number > 7 else "does not fit") for number in range(20)),
)
ALL = (PROFILE, WITHOUT_GPU, replace(PROFILE, measured=Measured(ESTIMATE, MEASURED)))


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize(("width", "most"), [(80, 79), (60, 59), (None, 79), (200, 79)])
def test_no_line_is_wider_than_the_terminal_nor_than_80_columns(profile: Profile, width: int | None, most: int) -> None:
    lines = printed(profile, width=width).splitlines()
    assert [line for line in lines if len(line) > most] == []


@pytest.mark.parametrize("profile", ALL)
def test_plain_is_ascii_and_nothing_is_told_by_colour_alone(profile: Profile) -> None:
    assert printed(profile, plain=True).isascii()
    coloured = printed(profile, colour=True)
    assert "\x1b[" in coloured and "\x1b" not in printed(profile)
    bare = "".join(part.partition("m")[2] for part in f"m{coloured}".split("\x1b["))
    assert bare == printed(profile)


def test_bars_are_as_long_as_their_share_of_the_card() -> None:
    lines = {line[:18].strip(): line for line in printed(PROFILE, plain=True).splitlines() if "#" in line}
    bars = {name: line.count("#") for name, line in lines.items()}
    columns = 79 - len("weights".ljust(18) + "    8.00  ")
    assert bars["weights"] == round(8.0 / 39.4 * columns)
    assert bars["gradients"] >= 1


def test_phases_stand_side_by_side_and_the_one_that_decides_is_marked() -> None:
    lines = printed(PROFILE).splitlines()
    heads = next(line for line in lines if "backward*" in line)
    assert "forward" in heads and "forward*" not in heads
    peaks = next(line for line in lines[lines.index(heads) :] if line.startswith("peak"))
    assert peaks.split()[1:] == [f"{phase.peak_gib:.2f}" for phase in ESTIMATE.phases]


def test_what_is_said_of_gpu_verdict_changes_work_and_money() -> None:
    said = printed(PROFILE)
    for words in (
        "20.0 of 39.4 GiB are free",
        "held by pid 4711 (python)",
        "GPU 0 of 2",
        "1. 12.0 GiB in place of 14.0",
        "--memory.layer_slices 4 --train.max_grad_norm null",
        "4,096 tokens, 106 TFLOP",
        "120 steps",
        "about 1,500 tokens a second, 2.7 s a step",
        "about 10 min 55 s, $0.36 at $2.00 an hour",
        "lines are full",
    ):
        assert words in said


def test_without_a_gpu_the_sizes_are_told_by_what_they_do() -> None:
    said = printed(WITHOUT_GPU)
    assert "no GPU is known here" in said
    assert "does not fit: RTX 0" in said and "fits:         RTX 8" in said


def test_sizes_that_are_all_alike_are_told_in_one() -> None:
    fits = [replace(size, word="fits") for size in WITHOUT_GPU.sizes]
    assert "fits:         all 20 GPUs that are known" in printed(replace(WITHOUT_GPU, sizes=tuple(fits)))


def test_steps_that_are_not_known_say_where_the_reason_is() -> None:
    unknown = replace(WORK, steps_per_epoch=None, total_steps=None, seconds=None, dollars=None)
    assert "not known; --full says why" in printed(replace(PROFILE, work=unknown))


def test_what_was_measured_stands_beside_the_estimate() -> None:
    said = printed(replace(PROFILE, measured=Measured(ESTIMATE, MEASURED)))
    assert "measured: 14.20 GiB at the peak" in said
    assert any(line.split() == ["peak", "14.000", "14.200", "-1.4%"] for line in said.splitlines())
    assert "does not fit. Out of memory" in printed(replace(PROFILE, measured=Measured(ESTIMATE, TOO_LARGE)))


def test_a_sign_in_a_name_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in printed(replace(PROFILE, model="evil\x1b[2J", config="a\x07.yaml"))
