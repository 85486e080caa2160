"""What is asked before a key is pressed, and changes in few words."""

from pgs_tui.profiling.foresight import Foresight
from pgs_tui.profiling.settings import Kind, Opened
from pgs_tui.profiling.shapes import Change
from pgs_tui.profiling.what_if import Target, WhatIf
from pgs_tui.profiling.words import in_short

KINDS = {"a.batch": Kind(), "b.optimizer": Kind(("lion", "adamw", "sgd")), "c.compile": Kind((False, True))}
VALUES = {"a.batch": 2, "b.optimizer": "lion", "c.compile": False}


def asked_ahead(foresight: Foresight, what_if: WhatIf, key: str) -> list[dict[str, object]]:
    questions = []
    while (found := foresight.next(what_if, {"config": "c", "overrides": dict(what_if.changes)}, key)) is not None:
        assert foresight.is_busy
        questions.append(found["overrides"])
    return questions


def test_every_neighbour_is_asked_once_those_of_the_marked_setting_first() -> None:
    what_if = WhatIf(Opened(VALUES, VALUES, KINDS), Target())
    foresight = Foresight()
    neighbours = [{"c.compile": True}, {"b.optimizer": "adamw"}, {"b.optimizer": "sgd"}]
    assert asked_ahead(foresight, what_if, "c.compile") == neighbours
    assert asked_ahead(foresight, what_if, "b.optimizer") == []
    what_if.set({"c.compile": True})
    further = asked_ahead(foresight, what_if, "a.batch")
    assert {"c.compile": True, "b.optimizer": "sgd"} in further and {"c.compile": False} in further
    foresight.forget()
    assert len(asked_ahead(foresight, what_if, "a.batch")) == 3, "a new profiler knows nothing yet"


def test_a_change_in_few_words() -> None:
    keys = {"memory.layer_slices": 4, "memory.offload_activations": True}
    assert in_short(Change(keys, 1.26, 0.91, "")) == "slices 4, offload on: 1.3 GiB less, 9 % slower"
    assert in_short(Change({"model.compile": True}, -0.4, 1.41, "")) == "compile on: 0.4 GiB more, 41 % quicker"
    assert in_short(Change({"train.x": 1}, 2.0, 1.0, "")) == "x 1: 2.0 GiB less, as quick"
