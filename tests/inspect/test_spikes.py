"""The batch behind a flagged step: the worst row first, down to the token and the line of the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.config import dump_config, load_config
from tests.data.conftest import byte_tokenizer, chat
from tests.inspect.conftest import MakeConfig, Pgs
from tests.inspect.serving import Server

ROWS = [chat("What colour is the sky?", "Blue."), chat("2+2?", "Four."), chat("Hi", "Hello")]
MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(make_config: MakeConfig, tmp_path: Path) -> MakeRun:
    """A run over ROWS with a recorded step 7, in which the full stop of row 1 is far off."""

    def make(**changes: Any) -> Path:
        config = make_config(*ROWS)
        run = tmp_path / "20260101-120000-small"
        (run / "spikes").mkdir(parents=True)
        (run / "run.json").write_text("{}")
        (run / "config.yaml").write_text(dump_config(load_config(config).config))
        record = {"v": 1, "step": 7, "loss": 5.5, "grad_norm": "NaN", "rows": [_recorded(0, 1.0), _recorded(1, 4.0)]}
        record["left_out"] = {"rows": [2], "tokens": 30}
        record["rows"][1]["losses"][-3] = "NaN"
        (run / "spikes/step-7.json").write_text(json.dumps({**record, **changes}))
        return run

    return make


def _recorded(row: int, loss: float) -> dict[str, Any]:
    tokenizer = byte_tokenizer()
    text = tokenizer.apply_chat_template(ROWS[row], tokenize=False)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    has_loss = [len(ids) - 7 <= number < len(ids) - 1 for number in range(len(ids))]
    losses = [loss if has else 0.0 for has in has_loss]
    return {"row": row, "input_ids": ids, "has_loss": has_loss, "losses": losses}


def test_the_worst_row_and_its_worst_tokens_come_first(make_run: MakeRun, pgs: Pgs) -> None:
    said = pgs("inspect", "--spike", f"{make_run()}:7", "--json")
    assert (said.code, said.err) == (0, "")
    (spike,) = said.lines
    assert (spike["step"], spike["loss"], spike["grad_norm"]) == (7, 5.5, "NaN")
    assert [(row["row"], row["line"], row["mean_loss"]) for row in spike["rows"]] == [(1, 2, "Infinity"), (0, 1, 1.0)]
    assert spike["rows"][0]["file"].endswith("chats.jsonl")
    assert spike["left_out"] == [2]
    worst = spike["rows"][0]["worst"]
    assert (worst[0]["text"], worst[0]["loss"]) == (".", "Infinity")
    assert [token["loss"] for token in worst[1:]] == [4.0] * 5


def test_heat_for_people(make_run: MakeRun, pgs: Pgs) -> None:
    said = pgs("inspect", "--spike", f"{make_run()}:7")
    assert (said.code, said.err) == (0, "")
    assert said.out.index("chats.jsonl:2") < said.out.index("chats.jsonl:1")
    assert "│ Four⟦.⟧(inf)<|im_end|>⏎\n" in said.out
    assert "step 7: loss 5.50, gradient norm NaN, 2 rows (1 more, less conspicuous, were not recorded)" in said.out


def test_a_row_with_turns_and_losses_for_the_screen(make_run: MakeRun) -> None:
    server = Server("--run", make_run())
    try:
        spike = server.ask("spike", step=7)
        sample = server.ask("spike_sample", step=7, index=spike["rows"][0]["index"])
        assert (sample["row"], sample["line"], sample["kind"]) == (1, 2, "messages")
        assert sample["text"].endswith("Four.<|im_end|>\n")
        ((start, stop),) = sample["lit"]
        assert sample["text"][start:stop] == "Four.<|im_end|>"
        assert len(sample["losses"]) == len(sample["ids"]) == len(sample["starts"]) == sample["num_tokens"]
        assert [loss for loss in sample["losses"] if loss is not None] == [4.0] * 4 + ["Infinity", 4.0]
        assert sample["segments"][-1][1] == len(sample["text"])
        for params, said in [({"step": 8}, "recorded are 7"), ({"step": 7, "index": 5}, "There is no row 5")]:
            with pytest.raises(LookupError, match=said):
                server.ask("spike" if "index" not in params else "spike_sample", **params)
    finally:
        assert server.leave()[0] == 0


@pytest.mark.parametrize("change", ["gone", "other"])
def test_recorded_tokens_outlive_their_data(make_run: MakeRun, pgs: Pgs, change: str) -> None:
    run = make_run()
    data = run.parent / "chats.jsonl"
    if change == "gone":
        data.unlink()
    else:
        data.write_text(json.dumps({"messages": chat("now", "something else")}) + "\n")
    said = pgs("inspect", "--spike", f"{run}:7")
    assert (said.code, said.err) == (0, "")
    assert "Four⟦.⟧(inf)<|im_end|>" in said.out


@pytest.mark.parametrize(
    ("spike", "code", "said"),
    [
        ("{run}:8", 1, "The batch of step 8 of 20260101-120000-small was not recorded; recorded are 7.\n"),
        ("{run}:x", 2, "--spike takes RUN:STEP, such as latest:120; found"),
        ("{run}", 2, "--spike takes RUN:STEP"),
        ("nowhere:7", 2, "nowhere: no such run"),
    ],
)
def test_what_is_not_there(make_run: MakeRun, pgs: Pgs, spike: str, code: int, said: str) -> None:
    found = pgs("inspect", "--spike", spike.format(run=make_run()))
    assert (found.code, found.out) == (code, "")
    assert said in found.err and found.err.count("\n") == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"v": 1}', '{"step": 7, "loss": 1, "grad_norm": 1, "rows": [3]}'])
def test_a_torn_record_is_one_sentence(make_run: MakeRun, pgs: Pgs, content: str) -> None:
    run = make_run()
    (run / "spikes/step-7.json").write_text(content)
    found = pgs("inspect", "--spike", f"{run}:7")
    assert (found.code, found.out) == (1, "")
    assert "step-7.json cannot be read" in found.err and found.err.count("\n") == 1
