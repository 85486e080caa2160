"""A run on another machine beside one that is here: by its own name, with its config, while it grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import dump_config, load_config
from engine.events import Stamped
from engine.events.codec import encode
from engine.rundir import this_process, write_run_info
from pgs_tui.appearance.look import Look
from pgs_tui.apps.compare import CompareApp
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import Compare
from pgs_tui.opening import opened
from pgs_tui.remote.ssh import Connection
from tests.comparing.made_runs import falling, told, write
from tests.pgs_tui.making import step
from tests.remote.sshd import HOST, Sshd
from tests.screens.inspecting import until

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


async def test_a_run_elsewhere_is_compared_with_one_here(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.ssh)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    here = write(tmp_path / "20261130-100000-made", told(falling(60)))
    far = write(tmp_path / "far" / "20261130-110000-made", told(falling(30, lift=0.5)), end=None)
    write_run_info(far, this_process(far, "made"))
    for run, epochs in ((here, "1"), (far, "2")):
        loaded = load_config(QUICKSTART, ["--train.epochs", epochs], check_files=False)
        run.config_yaml.write_text(dump_config(loaded.config))
    goal = opened(Compare((str(here.path), f"{HOST}:{far.path}")))
    app = CompareApp(goal, Look())  # type: ignore[arg-type]
    async with app.run_test(size=(140, 36)) as pilot:
        screen = app.compare_screen

        def shown(pane: str) -> str:
            return "\n".join(text_of(row) for one in screen.drawn if one.id == pane for row in one.lines)

        await until(pilot, lambda: not screen.comparison.loading)
        await until(pilot, lambda: "train.epochs" in shown("differences"))
        await until(pilot, lambda: f"110000-made ({HOST})" in shown("runs"))
        with far.events.open("a") as log:
            log.writelines(
                f"{encode(one.event, one.t)}\n" for one in [Stamped(2000.0 + n, step(n, 1.9)) for n in range(31, 81)]
            )
        await until(pilot, lambda: screen.comparison.runs[1].history.last_step == 80)
    Connection(HOST).drop()
