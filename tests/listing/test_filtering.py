"""Which runs a person wants to see, and in which order."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from engine.events.summary import RunSummary
from engine.rundir import Liveness
from pgs_tui.listing.filtering import wanted_by
from pgs_tui.listing.labels import Labels
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.sorting import SORT_KEYS, Order, in_order


def row(name: str, life: Liveness | None = "finished", loss: float | None = None, **facts: object) -> RunRow:
    summary = RunSummary(model="Qwen/Qwen3.5-4B", step=3, loss=loss, lows=((3, loss),) if loss is not None else ())
    fields = {"path": Path("/runs") / name, "shown": name, "name": name, "life": life, "summary": summary, **facts}
    return RunRow(**fields)  # type: ignore[arg-type]


RUNS = [
    row("sweep-a", "failed", labels=Labels(("sweep", "bad"))),
    row("sweep-b", "live", labels=Labels(("sweep",), "the long warm-up")),
    row("plain", "killed", host="box"),
    row("closed", None, trouble="may not be read"),
]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("", "sweep-a sweep-b plain closed"),
        ("sweep", "sweep-a sweep-b"),
        ("SWEEP tag:bad", "sweep-a"),
        ("status:failed", "sweep-a"),
        ("status:going", "sweep-b"),
        ("status:run", "sweep-b"),
        ("status:dead", "plain"),
        ("status:unreadable", "closed"),
        ("model:qwen -status:failed", "sweep-b plain closed"),
        ("model:llama", ""),
        ("tag:", "sweep-a sweep-b"),
        ("-tag: model:qwen", "plain closed"),
        ("warm-up", "sweep-b"),
        ("note:warm -sweep-a", "sweep-b"),
        ("#sweep", "sweep-a sweep-b"),
        ("host:box", "plain"),
        ("unknown:key", ""),
    ],
)
def test_words_and_keys(written: str, found: str) -> None:
    wanted = wanted_by(written)
    assert " ".join(one.name for one in RUNS if wanted(one)) == found


def test_every_order_has_all_runs_and_those_without_a_fact_last() -> None:
    runs = [row("a10", loss=2.0, started=1.0, size=5), row("a9", loss=math.nan, started=3.0), row("b", loss=1.0)]
    runs.append(row("c", None, summary=None))
    for key in SORT_KEYS:
        for order in (Order(key), Order(key).backwards):
            assert len(in_order(runs, order)) == 4
            assert key == "name" or in_order(runs, order)[-1].name in ("c", "b")
    assert [one.name for one in in_order(runs, Order("name"))] == ["a9", "a10", "b", "c"]
    assert [one.name for one in in_order(runs, Order("loss"))] == ["b", "a10", "a9", "c"], "no number is the worst loss"
    assert [one.name for one in in_order(runs, Order())][:2] == ["a9", "a10"], "the newest first"
    assert next(one.name for one in in_order(runs, Order("size"))) == "a10"


def test_walking_through_the_orders_comes_back() -> None:
    order = Order()
    for _ in SORT_KEYS:
        order = order.following
    assert order == Order()
