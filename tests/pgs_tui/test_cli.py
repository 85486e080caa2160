import subprocess
import sys
from pathlib import Path

import pytest

from pgs_tui.arguments import Arguments, UsageError, parse
from pgs_tui.cli import main


def test_overrides_are_taken_as_the_config_wants_them() -> None:
    parsed = parse(["c.yaml", "--train.learning_rate", "1e-5", "--data.packing=false", "--train.resume_from", "-"])
    assert parsed == Arguments(
        ["c.yaml"], ["--train.learning_rate", "1e-5", "--data.packing=false", "--train.resume_from", "-"]
    )


def test_options_are_told_from_overrides() -> None:
    parsed = parse(["attach", "latest", "--light", "--mouse", "--plain"])
    assert parsed == Arguments(["attach", "latest"], [], theme="light", mouse=True, plain=True)
    assert parse(["--theme", "terminal"]).theme == parse(["--theme=terminal"]).theme == "terminal"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--train.epochs"], "--train.epochs needs a value"),
        (["--train.max_steps", "--train.output_dir", "here"], "needs a value, but --train.output_dir follows"),
        (["--theme", "pink"], "use one of dark, light, terminal"),
        (["--epochs", "2"], "unknown option --epochs"),
        (["-x"], "unknown option -x"),
    ],
)
def test_what_makes_no_sense_is_said(argv: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(argv)


def test_inspect_takes_a_config_or_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[str] = []
    monkeypatch.setattr("os.execve", lambda program, arguments, environment: became.extend(arguments) or exit())
    run = tmp_path / "20260101-000000-c"
    run.mkdir()
    (run / "events.jsonl").write_text("")
    (tmp_path / "c.yaml").write_text("")
    for given, wanted in ((run, "--run"), (tmp_path / "c.yaml", "--config")):
        became.clear()
        with pytest.raises(SystemExit):
            main(["inspect", str(given), "--row", "3", "--plain", "--data.max_seq_length", "9"])
        tail = ["inspect", "--row", "3", "--plain", wanted, str(given), "--data.max_seq_length", "9"]
        assert became[3:] == tail


def test_profile_without_a_screen_prints_the_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[str] = []
    monkeypatch.setattr("os.execve", lambda program, arguments, environment: became.extend(arguments) or exit())
    run = tmp_path / "20260101-000000-c"
    run.mkdir()
    for name in ("events.jsonl", "config.yaml"):
        (run / name).write_text("")
    (tmp_path / "c.yaml").write_text("")
    given: tuple[tuple[Path, Path, list[str]], ...] = (
        (tmp_path / "c.yaml", tmp_path / "c.yaml", ["--gpu", "h200"]),
        (run, run / "config.yaml", ["--gpu_memory_gb", "24"]),
    )
    for chosen, config, gpu in given:
        became.clear()
        with pytest.raises(SystemExit):
            main(["profile", str(chosen), *gpu, "--plain", "--train.epochs", "9"])
        assert became[3:] == ["profile", "--config", str(config), *gpu, "--plain", "--train.epochs", "9"]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["one.yaml", "two.yaml"], "one config at a time"),
        (["nowhere.yaml"], "nowhere.yaml: no such config file"),
        (["atach"], "did you mean pgs-tui attach?"),
        (["."], "is a folder, no config file"),
        (["attach", "a", "b"], "attach takes one run"),
        (["attach", "nothing-of-this-name"], "no such run"),
        (["--nonsense"], "unknown option"),
        (["inspect", "a.yaml", "b.yaml"], "one config or run at a time"),
        (["inspect", "nowhere.yaml"], "nowhere.yaml: no such config file"),
        (["inspect", "--row", "-1"], "rows are counted from 0"),
        (["--row", "1"], "--row belongs to inspect"),
        (["attach", "--row", "1"], "attach takes one run"),
        (["profile", "a.yaml", "b.yaml"], "one config or run at a time"),
        (["profile", "nowhere.yaml"], "nowhere.yaml: no such config file"),
        (["profile", "--row", "1"], "--row belongs to inspect"),
        (["profile", "--gpu", "h200", "--gpu_memory_gb", "24"], "give one of them"),
        (["profile", "--gpu_memory_gb", "much"], "is a number of GiB"),
        (["profile", "--gpu_memory_gb=-1"], "is a number of GiB"),
        (["profile", "--gpu"], "--gpu needs a value"),
        (["c.yaml", "--gpu", "h200"], "belong to profile"),
        (["c.yaml", "--readonly"], "--readonly belongs to attach"),
        (["attach", "a", "--speed", "3"], "--speed belongs to replay"),
        (["attach", "a", "--at", "3"], "--at belongs to replay"),
        (["replay", "a", "--at", "last"], "steps are counted from 1"),
        (["replay", "a", "--speed", "0"], "a number from 1 to 1000"),
        (["replay"], "replay takes one run"),
        (["compare", "a"], "compare takes 2 to 6 runs"),
        (["runs", "a", "b"], "runs takes one folder"),
        (["attach", "-oProxyCommand=x@host:run"], "unknown option"),
        (["attach", "me@-host:run"], "is no host that ssh could be given"),
        (["--gpu", "h200"], "tells no memory"),
    ],
)
def test_a_mistake_is_one_line_on_stderr_and_exit_code_2(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert captured.err.count("\n") == 1


def test_no_name_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attach", "\x1b]0;owned\x07\x1b[31mred\x9b2J"]) == 2
    said = capsys.readouterr().err
    assert "red" in said and not {"\x1b", "\x07", "\x9b"} & set(said)


def test_a_folder_that_is_gone_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main([]) == 2
    assert "the folder you are in is gone" in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "usage: pgs-tui" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("pgs-tui ")


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


HEAVY = {"torch", "transformers", "datasets", "bitsandbytes", "numpy", "tokenizers"}


def test_nothing_is_loaded_before_it_is_needed() -> None:
    assert not modules_after("import pgs_tui.cli") & {"textual", "rich", "asyncio", "engine.rundir", "argparse"}
    first_frame = modules_after("import pgs_tui.cli, pgs_tui.apps.dashboard, pgs_tui.terminal.guard")
    assert not first_frame & {"plotext", "pydantic", "yaml", "psutil", "engine.config", "engine.events"}
    for app in ("picker", "profile"):
        opened = modules_after(f"import pgs_tui.cli, pgs_tui.apps.{app}, pgs_tui.terminal.guard")
        assert not opened & {"plotext", "pydantic", "yaml", "psutil", "engine.config", "engine.events"}


def test_no_heavy_library_ever() -> None:
    code = """
import pgs_tui.apps.dashboard, pgs_tui.plain, pgs_tui.opening, pgs_tui.drawing.chart, plotext
import screens.dashboard.screen, screens.dashboard.live, screens.dialogs.help, screens.dialogs.confirm, screens.copying
import screens.profile.screen, screens.profile.writing, screens.profile.assumptions, engine.config.edit
from engine.config import load_config
"""
    assert not modules_after(code) & HEAVY
