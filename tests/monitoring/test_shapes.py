"""The JSON that docs/json.md fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.events import Advice, Alert
from engine.monitoring.as_json import change, document
from engine.monitoring.log_source import LogFile, LogSource
from engine.monitoring.summary import Told


def test_the_document_has_the_keys_of_the_page(log_of: Callable[[Sequence[str]], Path]) -> None:
    source = LogSource(LogFile(log_of(["step=1 loss=nan lr=1e-5 eval=2.5"])), "train.log", follows=False)
    told = list(source.poll())
    shown = document(source)
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text().partition("## `pgs monitor --json`")[2]
    assert all(f'"{key}"' in page for key in (*shown, *shown["incidents"][0], *shown["incidents"][0]["advice"][0]))
    assert list(shown["usual"]) == ["loss", "grad_norm", "tok_s", "dt"]
    assert shown["eval"] == shown["best"] == {"step": 1, "loss": 2.5, "name": "eval"}
    assert (shown["loss"], shown["tok_s"], shown["source"], shown["kind"]) == ("NaN", None, "train.log", "log")
    opened = [one for one in map(change, told) if one["incident"]]
    assert [list(one) for one in opened] == [["t", "change", "incident", "words"]]
    assert opened[0]["change"] == "opened" and opened[0]["incident"] == shown["incidents"][0]


def test_keys_that_go_with_an_advice_are_pairs() -> None:
    advice = Advice(key="train.learning_rate", value=1e-5, also=(("train.min_learning_rate", None),))
    alert = Alert(id="a", state="open", code="X", severity="error", meaning="m", advice=(advice,), value=float("inf"))
    from engine.incidents import Incidents

    incident, opened = Incidents().take(alert)
    shown = change(Told(1.0, opened, incident))["incident"]
    assert shown["value"] == "Infinity"
    assert shown["advice"][0]["also"] == [["train.min_learning_rate", None]]
