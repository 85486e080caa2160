"""Having a config measured by a profiler that takes its time to answer."""

from pathlib import Path
from typing import Any

import pytest

from pgs_tui.profiling.profiling import Profiling
from pgs_tui.profiling.settings import open_config
from pgs_tui.profiling.shapes import Measuring
from pgs_tui.serving.client import Answer
from pgs_tui.serving.wishes import Wish

MEASURE, LOOK = "measure", "measuring"


class Slow:
    """A profiler's process that answers nothing by itself."""

    def __init__(self) -> None:
        self.wanted: list[Wish] = []

    def want(self, topic: str, method: str, **params: Any) -> None:
        if topic == "measuring":
            self.wanted.append(Wish(topic, method, params))

    @property
    def methods(self) -> list[str]:
        return [wish.method for wish in self.wanted]

    def forget(self, topic: str) -> None:
        pass


@pytest.fixture
def asked(tmp_path: Path) -> tuple[Profiling, Slow]:
    path = tmp_path / "c.yaml"
    path.write_text("model:\n  name_or_path: Qwen/Qwen3-4B\ndata:\n  dataset: gone.jsonl\n")
    profiling, server = Profiling(path), Slow()
    profiling.start(lambda: server)  # type: ignore[arg-type, return-value]
    profiling.begin(open_config(path, ()))
    profiling.measure()
    return profiling, server


def test_a_look_does_not_take_the_place_of_the_question_and_its_refusal_is_told(asked: tuple[Profiling, Slow]) -> None:
    profiling, server = asked
    profiling.look_at_measurement()
    assert server.methods == [MEASURE]
    profiling.take(Answer(server.wanted[0], error="--measure needs a GPU; there is none"))
    assert "needs a GPU" in profiling.said and not profiling.measurement.is_running


def test_what_is_measured_is_looked_at_once_it_goes_on(asked: tuple[Profiling, Slow]) -> None:
    profiling, server = asked
    profiling.take(Answer(server.wanted[0], Measuring("running", "step 1", 1, 4)))
    profiling.look_at_measurement()
    assert server.methods == [MEASURE, LOOK]


def test_a_question_that_is_not_answered_yet_can_be_taken_back(asked: tuple[Profiling, Slow]) -> None:
    profiling, server = asked
    profiling.stop_measuring()
    assert server.methods == [MEASURE, LOOK]
    profiling.take(Answer(server.wanted[-1], Measuring("idle")))
    assert profiling.said == "the measurement was stopped"
