"""Sources with weights, from the config to the rows of the steps."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from engine.events import Audit, Start, Step

from .conftest import Outcome

Train = Callable[..., Outcome]


@pytest.fixture
def weighted(config_file: Path, tmp_path: Path) -> None:
    """Three sources of twenty rows: twice, once and half of them an epoch."""
    rows = (tmp_path / "train.jsonl").read_text().splitlines(keepends=True)
    config = yaml.safe_load(config_file.read_text())
    del config["data"]["dataset"]
    config["data"]["sources"] = []
    for number, weight in enumerate((2, 1, 0.5)):
        path = tmp_path / f"part{number}.jsonl"
        path.write_text("".join(rows[20 * number : 20 * number + 20]))
        config["data"]["sources"].append({"path": path.name, "weight": weight})
    config["train"].update(max_steps=None, epochs=2)
    config_file.write_text(yaml.safe_dump(config))


@pytest.mark.usefixtures("weighted")
@pytest.mark.parametrize("packing", ["false", "true"])
def test_an_epoch_draws_the_rows_of_a_source_as_often_as_its_weight_says(train: Train, packing: str) -> None:
    done = train("--data.packing", packing, "--data.max_seq_length", 256)
    steps = done.of(Step)
    assert len(steps) == done.of(Start)[0].total_steps and steps[-1].epoch == 2.0
    first = Counter(row for step in steps if step.epoch <= 1 for row in step.rows)
    second = Counter(row for step in steps if step.epoch > 1 for row in step.rows)
    for epoch in (first, second):
        assert [epoch[row] for row in range(40)] == [2] * 20 + [1] * 20
        assert sorted(epoch[row] for row in range(40, 60)) == [0] * 10 + [1] * 10
    assert all(first[row] + second[row] == 1 for row in range(40, 60))


@pytest.mark.usefixtures("weighted")
def test_rows_held_out_for_evaluation_are_never_drawn(train: Train) -> None:
    done = train("--data.eval_dataset", "null", "--data.eval_split", 0.2, "--data.packing", "true")
    counts = done.of(Audit)[-1].counts
    assert (counts["train_rows"], counts["eval_rows"]) == (48, 12)
    drawn = {row for step in done.of(Step) for row in step.rows}
    assert len(drawn) == 48, "over two epochs each row that trains comes at least once"
