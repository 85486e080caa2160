"""Changes that would help, in few words."""

from pgs_tui.profiling.shapes import Change
from pgs_tui.profiling.words import in_short


def test_a_change_in_few_words() -> None:
    keys = {"memory.layer_slices": 4, "memory.offload_activations": True}
    assert in_short(Change(keys, 1.26, 0.91, "")) == "slices 4, offload on: 1.3 GiB less, 9 % slower"
    assert in_short(Change({"model.compile": True}, -0.4, 1.41, "")) == "compile on: 0.4 GiB more, 41 % quicker"
    assert in_short(Change({"train.x": 1}, 2.0, 1.0, "")) == "x 1: 2.0 GiB less, as quick"
