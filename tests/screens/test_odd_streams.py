"""Whatever a log holds, every panel can be drawn at every size."""

import math
import random
from pathlib import Path

import pytest

from engine.events import (
    Advice,
    Alert,
    Audit,
    AuditFlag,
    End,
    Eval,
    Event,
    Gpu,
    Host,
    ModelInfo,
    Phase,
    Resume,
    Start,
    StepMemory,
    StepTime,
)
from engine.rundir import RunDir
from pgs_tui.appearance.look import GLYPH_NAMES
from pgs_tui.drawing.lines import fit, line_width
from pgs_tui.history.axis import AXES
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from pgs_tui.view import View
from pgs_tui.widgets.alert_panel import AlertPanel
from pgs_tui.widgets.banner import Banner
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.cursor_line import CursorLine
from pgs_tui.widgets.gpu_panel import GpuPanel
from pgs_tui.widgets.memory_panel import MemoryPanel
from pgs_tui.widgets.parts_panel import PartsPanel
from pgs_tui.widgets.rank_panel import RankPanel
from pgs_tui.widgets.status_line import StatusLine
from screens.dashboard.live import LiveRun
from screens.dashboard.readings.charts import CHARTS
from screens.dashboard.readings.looking import ground_of
from tests.pgs_tui.making import BRACKETS, stamped, step

NUMBERS = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1e-300, 5e-324, 1e300, -1e300, 1e18, 1.5, 2.0)
SIZES = ((1, 1), (12, 3), (30, 2), (46, 9), (60, 12), (200, 40))


def odd_event(chance: random.Random) -> Event:
    def number() -> float:
        return chance.choice(NUMBERS)

    def maybe() -> float | None:
        return chance.choice((*NUMBERS, None))

    at, text = chance.choice((-3, 0, chance.randint(1, 40), 10**15)), chance.choice(BRACKETS)
    alert = Alert(
        id=str(chance.randint(0, 9)),
        state=chance.choice(("open", "update", "closed")),
        code=text,
        severity=chance.choice(("info", "warning", "critical")),
        meaning=text * 5,
        step=chance.choice((None, at)),
        value=maybe(),
        baseline=maybe(),
        advice=(Advice(key=text, value=maybe()),),
        rows=tuple(range(chance.randint(0, 9))),
    )
    memory = StepMemory(allocated=maybe(), peak=maybe(), weights=maybe(), other=maybe())
    gpu = Gpu(
        index=chance.randint(0, 8),
        uuid="u",
        name=text,
        used_by_us=maybe(),
        used_by_others=maybe(),
        total=maybe(),
        utilisation=maybe(),
        temperature=maybe(),
        power=maybe(),
    )
    model = ModelInfo(name="m", params=1, trainable=1)
    usual = step(
        at,
        maybe(),
        grad_norm=maybe(),
        tok_s=number(),
        dt=number(),
        epoch=number(),
        time=StepTime(data=maybe()),
        mem=memory,
        rank=chance.choice((0, 0, 0, 1, 7)),
    )
    return chance.choice(
        (
            usual,
            usual,
            usual,
            alert,
            gpu,
            Eval(step=at, loss=number(), best=chance.random() < 0.5),
            Host(cpu=number(), rss=number(), disk_free=number(), memory_total=maybe(), memory_available=maybe()),
            Phase(name=text, progress=maybe(), done=chance.choice((None, -3, 7)), total=chance.choice((None, 0, 9))),
            Start(
                run="r", command="c", config="c", model=model, device="d", total_steps=chance.choice((None, 0, -1, 7))
            ),
            Resume(from_step=at, checkpoint="c"),
            Audit(flags=(AuditFlag(code=text, severity="error", count=1, message=text),)),
            End(status="failed", reason=text, exit_code=1, last_step=at),
        )
    )


def odd_view(chance: random.Random, live: LiveRun) -> View:
    """Any view that keys can lead to."""
    view = View(chance.choice(AXES))
    ground = ground_of(live.history, view.axis)
    for _ in range(chance.randint(0, 6) if ground is not None else 0):
        assert ground is not None, "there are steps"
        view = chance.choice(
            (
                view.zoomed(chance.choice((0.5, 2.0)), ground),
                view.panned(chance.choice((-0.5, 0.5)), ground),
                view.moved(chance.choice((-10, -1, 1, 10)), 60, ground),
                view.at_start(ground),
                view.following(ground),
                view.at_end(),
            )
        )
    return view


@pytest.mark.parametrize("seed", range(6))
def test_every_panel_can_be_drawn(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    live = LiveRun(LocalRun(RunDir(tmp_path), "x"), clock=lambda: 1e9)
    chart, memory, alerts = ChartPanel("loss", id="a"), MemoryPanel(id="b"), AlertPanel(id="c")
    status, banner, cursor = StatusLine(id="d"), Banner(id="e"), CursorLine(id="f")
    parts, gpus, ranks = PartsPanel(id="g"), GpuPanel(id="h"), RankPanel(id="i")
    for _ in range(12):
        events = stamped(*(odd_event(chance) for _ in range(chance.choice((1, 3, 60)))))
        live.take(Update(events=events, life=chance.choice(("live", "gone", "starting", "elsewhere"))))
        memory.show(live.memory())
        alerts.show(live.incidents())
        alerts.select(1)
        status.show(live.status())
        banner.show(*(live.in_full(("a last word",)) or ("", "", "text")))
        view = odd_view(chance, live)
        looking = live.looking(view, chance.choice((None, 0.9, 0.98)), read=chance.random() < 0.5)
        cursor.show(live.at_cursor(looking))
        parts.show(live.parts(looking))
        gpus.show(live.cards(looking))
        ranks.show(live.ranks())
        for drawn in (parts, gpus, ranks):
            drawn.glyphs = chance.choice(GLYPH_NAMES)
            for width, height in SIZES:
                assert all(line_width(fit(row, width)) == width for row in drawn.draw(width, height))
        for name in CHARTS:
            chart.show(live.chart(name, looking))
            chart.glyphs = chance.choice(GLYPH_NAMES)
            chart.log_axis = chance.random() < 0.5
            for width, height in SIZES:
                for drawn in (chart, memory, alerts, status, banner, cursor):
                    lines = [fit(row, width) for row in drawn.draw(width, height)]
                    assert all(line_width(row) == width for row in lines)
