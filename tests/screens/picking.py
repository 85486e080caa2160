"""The picker in a terminal of any size, over real files, with a fake profiler that is a real process."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from pgs_tui.appearance.look import Look
from pgs_tui.apps.picker import PickerApp
from pgs_tui.apps.themed import Goodbye
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import PickConfig
from screens.picker.screen import PickerScreen
from tests.screens.inspecting import until

FAKE = Path(__file__).parents[1] / "picking" / "fake_profiler.py"
CONFIG = """\
model:
  name_or_path: {model}
data:
  dataset: chats.jsonl
  max_seq_length: {length}
train:
  per_device_batch_size: {batch}
  freeze_non_attention: {mixers}
{more}"""


def write_config(
    path: Path, model: str = "Qwen/Qwen3-4B", length: int = 2048, batch: int = 2, mixers: bool = False, more: str = ""
) -> Path:
    """A valid config with its data beside it; `more` are further lines of its section `train`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "chats.jsonl").write_text('{"messages": []}\n')
    path.write_text(CONFIG.format(model=model, length=length, batch=batch, mixers=str(mixers).lower(), more=more))
    return path


def write_folder(here: Path) -> None:
    """Two models, a mistake, a file that is no YAML, and files of others."""
    write_config(here / "configs" / "qwen" / "small.yaml", batch=1)
    write_config(here / "configs" / "qwen" / "large.yaml", length=8192, batch=16, more="  optimizer: lion8bit\n")
    write_config(here / "configs" / "qwen" / "mixers.yaml", mixers=True)
    write_config(here / "try.yaml", model="HuggingFaceTB/SmolLM2-135M", more="  gradient_accumulation_steps: 4\n")
    write_config(here / "configs" / "typo.yaml", more="  learning_rat: 1e-5\n")
    (here / "broken.yaml").write_text("model:\n  name_or_path: Qwen/Qwen3-4B\n train: [\n")
    (here / "compose.yaml").write_text("services:\n  web:\n    image: nginx\n")


ANSWERS: Mapping[str, Any] = {"small": {"total": 14.2}, "large": {"total": 61.5}, "mixers": {"total": 37.4}}


def texts(screen: PickerScreen) -> dict[str, str]:
    """The text of everything on the screen, by id."""
    return {str(one.id): "\n".join(text_of(row) for row in one.lines) for one in screen.drawn if one.display}


def is_settled(screen: PickerScreen) -> bool:
    """Whether there is nothing more to find out."""
    picking = screen.picking
    done = all(not entry.must_check and not (entry.is_valid and entry.must_estimate) for entry in picking.collection)
    return picking.searched and picking.runs_known and done and picking.is_idle


@asynccontextmanager
async def picker(
    here: Path,
    *options: str,
    answers: Mapping[str, Any] = ANSWERS,
    size: tuple[int, int] = (120, 36),
    look: Look | None = None,
    command: tuple[str, ...] = (),
    settled: bool = True,
) -> AsyncIterator[tuple[PickerScreen, Pilot[Goodbye]]]:
    known = here.parent / f"{here.name}-answers.json"
    known.write_text(json.dumps(answers))
    fake = (sys.executable, str(FAKE), str(known), *options)
    app = PickerApp(PickConfig(here, "here"), look or Look(), shipped=here / "none", command=command or fake)
    async with app.run_test(size=size) as pilot:
        screen = app.picker
        if settled:
            await until(pilot, lambda: is_settled(screen))
            await pilot.pause()
        yield screen, pilot
