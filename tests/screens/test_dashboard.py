"""What the dashboard shows of a run, at every size."""

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import (
    Advice,
    Alert,
    End,
    Eval,
    Gpu,
    Phase,
)
from engine.events import (
    Host as HostEvent,
)
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import BRACKETS, stamped, step
from tests.screens.hosting import hosted, screen_text
from tests.screens.scenes import GPU, SPIKE, START, training


async def test_the_values_on_the_screen_are_those_of_the_events(tmp_path: Path) -> None:
    async with hosted(tmp_path, (170, 36)) as (app, pilot):
        await app.deliver(pilot, training())
        texts = app.texts
        assert " 1.672 " in texts["loss"].splitlines()[0]
        assert " 0.294 " in texts["grad_norm"].splitlines()[0] or " 0.29 " in texts["grad_norm"].splitlines()[0]
        assert " 6 180 " in texts["tok_s"].splitlines()[0]
        assert " 1.20 s " in texts["dt"].splitlines()[0]
        assert "15.7 / 39.4 GiB" in texts["memory"].splitlines()[0]
        assert "peak 16.1 · util 98 % · 60 °C · 300 W" in texts["memory"]
        assert "weights 8.0" in texts["memory"]
        assert "the log says hello" in texts["log"]
        assert "step 1 240/6 000" in texts["status"]
        assert "● training" in texts["status"]
        assert "epoch 12.40" in texts["status"]
        assert "data 1 · fwd 33 · bwd 58 · opt 6 · other 2 %" in texts["dt"]


async def test_evaluations_and_the_best_stand_under_the_loss(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        evals = (Eval(step=1200, loss=1.89, best=True), Eval(step=1240, loss=1.92))
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(events=stamped(*evals), life="live"))
        assert "eval 1.920 · best 1.890 @ 1 200" in app.texts["loss"]


async def test_without_a_gpu_the_process_is_shown_and_that_is_said(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        measured = HostEvent(cpu=187, rss=1.23, disk_free=312, cores=2, memory_available=19, memory_total=24)
        await app.deliver(pilot, Update(events=stamped(measured), life="live"))
        assert "no GPU" not in app.texts["memory"], "while the device is not known"
        start = replace(START, device="cpu", gpus=())
        await app.deliver(pilot, Update(events=stamped(start, step(1), measured), life="live"))
        memory = app.texts["memory"]
        assert "no GPU: training on the CPU" in memory
        assert "1.2 / 24.0 GiB" in memory
        assert "cpu 187 % of 2 cores" in memory


async def test_a_lost_card_is_said_though_another_one_is_shown(tmp_path: Path) -> None:
    lost = Gpu(index=1, uuid="v", name="A100", error="GPU is lost")
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(step(1), GPU, lost), life="live"))
        assert "GPU 0  A100, 1 more" in app.texts["memory"]
        assert "GPU 1: GPU is lost" in app.texts["memory"]


async def test_a_card_that_tells_only_its_memory_is_shown_with_that(tmp_path: Path) -> None:
    slice_of_one = Gpu(index=0, uuid="m", name="MIG 1g.10gb", used_by_us=3.0, total=9.5)
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(step(1), slice_of_one), life="live"))
        assert "3.0 / 9.5 GiB" in app.texts["memory"]
        assert "util" not in app.texts["memory"]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (120, ("quickstart", "1 240/6 000", "21 %", "epoch", "ETA", "● training", "data < 1 s old")),
        (80, ("quickstart", "1 240/6 000", "21 %", "ETA", "● training", "< 1 s old")),
        (60, ("quickstart", "1 240/6 000", "● training", "< 1 s old")),
    ],
)
@pytest.mark.parametrize("name", ["quickstart", "quickstart_of_a_very_long_name/and_a_long_card_80gb" * 3])
async def test_the_first_line_keeps_what_matters_most(
    tmp_path: Path, width: int, shown: tuple[str, ...], name: str
) -> None:
    async with hosted(tmp_path, (width, 24), name=name) as (app, pilot):
        await app.deliver(pilot, training())
        app.now = app.live.history.last_t or 0.0
        app.dashboard.show_now()
        assert all(words in app.texts["status"] for words in shown), app.texts["status"]


async def test_a_run_that_ended_waits_for_no_step(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(log=("No module named engine",), life="gone", exit_code=1))
        assert "no step was taken" in app.texts["loss"]


async def test_before_the_first_event_everything_says_so(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, _):
        texts = app.texts
        assert "no data yet" in texts["status"]
        assert "waiting for the first step" in texts["loss"]
        assert "none" in texts["alerts"]


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (Phase(name="tokenizing", progress=0.43), "◐ tokenizing 43 %"),
        (Phase(name="downloading", done=2**30, total=4 * 2**30, unit="bytes"), "◐ downloading 1.0/4.0 GiB"),
        (Phase(name="tokenizing", done=1500, total=None, unit="rows"), "◐ tokenizing 1 500 rows"),
        (Phase(name="compiling"), "◐ compiling"),
        (Phase(name="paused"), "‖ paused"),
    ],
)
async def test_the_phase_is_shown_with_its_progress(tmp_path: Path, phase: Phase, words: str) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(phase), life="live"))
        assert words in app.texts["status"]


async def test_the_age_of_the_data_is_shown_and_late_news_stands_out(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        assert "data < 1 s old" in app.texts["status"]
        app.now += 95
        app.dashboard.show_now()
        assert "data 1 m 30 s old" in app.texts["status"]
        assert any(role == "warn" and "old" in text for text, role in app.dashboard.status_line.lines[0])


async def test_an_alert_tells_step_value_rows_meaning_and_marks_the_curve(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training(last=1110))
        await app.deliver(pilot, Update(events=stamped(SPIKE), life="live"))
        alerts = app.texts["alerts"]
        assert "alerts (1)" in alerts
        assert "▲ 1102  spike skipped  9.410, usually 1.700  rows 8812, 8813" in alerts
        assert "far above the recent ones" in alerts
        assert "▲" in app.texts["loss"]


async def test_an_alert_of_several_steps_says_which_of_them_it_speaks_of(tmp_path: Path) -> None:
    async with hosted(tmp_path, (120, 36)) as (app, pilot):
        await app.deliver(pilot, training(last=1110))
        slow = replace(SPIKE, id="s", code="STEP_SLOW", metric="dt", value=6.82, baseline=0.576, meaning="took 6.82 s")
        again = replace(slow, state="update", step=1105, value=2.1, count=2, meaning="took 2.1 s")
        await app.deliver(pilot, Update(events=stamped(slow, again), life="live"))
        assert "1102  step slow × 2  dt 6.82 s, usually 576 ms" in app.texts["alerts"]
        assert "at step 1105: took 2.1 s" in app.texts["alerts"]


async def test_n_walks_the_alerts_forward_and_back(tmp_path: Path) -> None:
    second = Alert(id="t", state="closed", code="LOSS_NAN", severity="critical", meaning="not a number", step=1200)
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(SPIKE, second), life="live"))
        selected = []
        for key in ("n", "n", "n", "N"):
            await pilot.press(key)
            assert app.dashboard.alerts.selected is not None
            selected.append(app.dashboard.alerts.selected.id)
        assert selected == ["t", "s", "t", "s"], "the newest first"
        await pilot.press("N")
        assert "not a number" in app.texts["alerts"]


async def test_a_goes_from_alert_to_alert_past_all_other_marks(tmp_path: Path) -> None:
    other = Alert(id="t", state="open", code="LEVEL_SHIFT", severity="warning", meaning="another level", step=1110)
    evals = [Eval(step=number, loss=1.9) for number in range(1060, 1111, 2)]
    async with hosted(tmp_path) as (app, pilot):
        await pilot.press("a")
        assert "no alerts so far" in app.texts["keys"]
        await app.deliver(pilot, training(last=1110))
        await app.deliver(pilot, Update(events=stamped(SPIKE, other, *evals), life="live"))
        met = []
        for key in ("a", "A", "A", "a"):
            await pilot.press(key)
            await pilot.pause()
            assert app.dashboard.alerts.selected is not None and app.dashboard.view.cursor is not None
            met.append((app.dashboard.alerts.selected.id, app.dashboard.view.cursor))
        assert [id for id, _ in met] == ["t", SPIKE.id, "t", SPIKE.id]
        assert [round(step) for _, step in met] == [1110, 1102, 1110, 1102]
        await pilot.press("n")
        await pilot.pause()
        assert app.dashboard.view.cursor is not None and round(app.dashboard.view.cursor) == 1104, "n: the next mark"


@pytest.mark.parametrize("size", [(60, 15), (80, 20), (80, 24), (120, 36)])
async def test_a_selected_alert_is_shown_in_full_at_every_size_and_esc_closes_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    advice = Advice(key="train.learning_rate", value=5e-6, why="smaller steps do not jump that far " * 2 + "ahead")
    alert = replace(SPIKE, meaning="The loss of this batch lies far above those before it. " * 3, advice=(advice,))
    async with hosted(tmp_path, size) as (app, pilot):
        end = End(status="failed", reason="a reason of many words " * 20, exit_code=1, last_step=1240)
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(events=stamped(alert, end), life="gone"))
        before = screen_text(app)
        await pilot.press("n")
        await pilot.pause()
        shown = screen_text(app)
        alerts = " ".join(app.texts["alerts"].replace("│", " ").split())
        assert all(word in " ".join(shown) for word in ("spike skipped", "try train.learning_rate: 5e-06", "ahead"))
        assert alert.meaning.strip() in alerts
        assert shown[0].strip() and "q leave" in shown[-1], "the first and the last line stay"
        await pilot.press("escape")
        await pilot.pause()
        assert screen_text(app) == before


async def test_n_brings_a_hidden_panel_back(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(SPIKE), life="live"))
        await pilot.press("6", "n")
        assert "far above" in app.texts["alerts"]
        await pilot.press("6")
        assert "alerts" not in app.texts
        assert app.dashboard.alerts.selected is None


@pytest.mark.parametrize("text", BRACKETS)
async def test_foreign_text_is_shown_letter_by_letter(tmp_path: Path, text: str) -> None:
    alert = Alert(id="a", state="open", code=text, severity="error", meaning=text, step=1)
    async with hosted(tmp_path, (160, 40), name=text) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(step(1), alert), log=(text,), notes=(text,), life="live"))
        end = End(status="failed", reason=text, exit_code=1, last_step=1)
        await app.deliver(pilot, Update(events=stamped(end), life="gone"))
        shown = screen_text(app)
        rows = {name: [row for row in app.texts[name].splitlines() if text in row] for name in app.texts}
        assert rows["status"] and rows["alerts"] and rows["banner"]
        assert len(rows["log"]) == 2
        assert sum(text in row for row in shown) >= 5


async def test_a_long_log_is_shown_while_it_is_read_and_not_judged_before(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, Update(events=stamped(START, step(1, 5.5)), life="gone", loading=True))
        assert "◐ reading the log" in app.texts["status"]
        assert "5.500" in app.texts["loss"]
        assert "banner" not in app.texts
        end = End(status="finished", reason="all done", exit_code=0, last_step=2)
        await app.deliver(pilot, Update(events=stamped(step(2), end), life="gone"))
        assert "✔ finished" in app.texts["status"]


async def test_the_end_is_said_in_a_held_view_too(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("space")
        await app.deliver(pilot, Update(log=("last words",), life="gone", exit_code=-9))
        assert "last words" in app.texts["banner"]


async def test_a_held_view_stays_still_while_data_is_collected(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("space")
        before = app.texts["loss"]
        await app.deliver(pilot, training(last=1300, loss=1.1))
        assert app.texts["loss"] == before
        assert "view held" in app.texts["status"]
        assert "step 1 300" in app.texts["status"]
        await pilot.press("space")
        assert "1.100" in app.texts["loss"]


async def test_nothing_is_repainted_when_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        painted: list[object] = []
        for drawn in app.dashboard.drawn:
            monkeypatch.setattr(drawn, "refresh", lambda *regions, **more: painted.append(regions))
        app.dashboard.show_now()
        assert painted == []


async def test_a_new_step_repaints_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training(last=1240))
        cells: list[int] = []
        for drawn in app.dashboard.drawn:
            monkeypatch.setattr(drawn, "refresh", lambda *regions, **more: cells.extend(one.area for one in regions))
        app.live.take(Update(events=stamped(step(1241, 1.671, grad_norm=0.2944, tok_s=6180.4, dt=1.204)), life="live"))
        app.dashboard.show_now()
        assert sum(cells) < 120 * 36 / 4


SIZES = [(1, 1), (2, 60), (20, 5), (46, 19), (59, 14), (60, 15), (80, 24), (120, 36), (184, 39), (200, 2), (400, 120)]


async def test_no_size_is_too_small_or_too_large(tmp_path: Path) -> None:
    chance = random.Random(5)
    sizes = [*SIZES, *((chance.randint(1, 220), chance.randint(1, 70)) for _ in range(12)), (80, 24)]
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(events=stamped(SPIKE, Eval(step=5, loss=math.nan)), life="live"))
        whole = app.texts
        for number, size in enumerate(sizes):
            await pilot.resize_terminal(*size)
            values = [math.nan, math.inf, -5.0, 1e30, 0.0, None, 2.0]
            odd = step(1300 + number, values[number % 7], grad_norm=values[-number % 7])
            await app.deliver(pilot, Update(events=stamped(odd), log=(f"line {number}",), life="live"))
            for drawn in app.dashboard.drawn:
                assert {len(row) for row in screen_text(app)} <= {size[0]}, drawn
        assert set(app.texts) == set(whole), "back at the old size the view is whole again"
        assert f"line {len(sizes) - 1}" in app.texts["log"], "the log was read meanwhile"


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (20, 5)])
async def test_small_terminals_show_the_values(tmp_path: Path, size: tuple[int, int]) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, training())
        shown = "\n".join(screen_text(app))
        wanted = ["1.672"] if size == (20, 5) else ["1.672", "0.29", "6 180", "1.20 s", "15.7 / 39.4 GiB"]
        assert all(value in shown for value in wanted), shown


async def test_a_modal_fits_the_smallest_terminal(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("x")
        for size in [(1, 1), (20, 5), (60, 15), (80, 24)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "Stop with a checkpoint" in "\n".join(screen_text(app))
