"""Names of files and messages of errors that look like markup are shown letter by letter."""

from pathlib import Path

import pytest

from tests.pgs_tui.making import BRACKETS
from tests.screens.inspecting import inspecting, until
from tests.screens.inspecting import texts as inspected
from tests.screens.picking import picker, texts, write_config

NAMES = tuple(text for text in BRACKETS if "/" not in text)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


async def test_names_of_configs_and_what_is_wrong_with_them(here: Path) -> None:
    for place, name in enumerate(NAMES):
        write_config(here / f"{name}.yaml", more=f"  '{BRACKETS[place]}': 1\n")
    async with picker(here, size=(160, 36)) as (screen, _):
        listed = texts(screen)["configs"]
        for place, name in enumerate(NAMES):
            assert f"{name}.yaml" in listed or f" {name} " in listed, name
            assert f"train.{BRACKETS[place]}: unknown key" in listed, listed


@pytest.mark.parametrize("name", ["list[int].jsonl", "[@click=app.bell]tap.jsonl", "[link=x]y.jsonl"])
async def test_the_file_of_a_row_and_its_findings(tmp_path: Path, name: str) -> None:
    rows = [{"turns": [["user", "a"], ["assistant", "b"]], "file": f"/data/{name}", "flags": ["[/] here"]}]
    async with inspecting(tmp_path, rows) as (screen, pilot):
        await until(pilot, lambda: "row 0 " in inspected(screen).get("sample", ""))
        shown = inspected(screen)
        assert name in shown["sample"] and "[/] here" in shown["rows"] + shown["sample"]
