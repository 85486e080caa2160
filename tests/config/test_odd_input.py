"""Whatever is written, a config is loaded or refused with a sentence: never any other exception."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from engine.config import ConfigError, load_config
from engine.config.kinds import kinds
from tests.config.conftest import MINIMAL

CONFIG = (
    MINIMAL
    + "  eval_split: 0.1\ntrain:\n  learning_rate: 1e-5\n  betas: [0.9, 0.99]\nmemory: &m\n  chunked_loss: yes\n"
)
SPLINTERS = (
    "\t", "- ", "[", "]", "{", "}", "&a ", "*a", "*m", "<<: *m\n", "<<: ", "? ", ": ", "!!int ", "'", '"', "|", ">",
    "\n", "null", "---\n", "...\n", "%YAML 1.1\n", "\x85", "\u2028", "\ufeff", "\0", "😀", "!x ", "~", ",", "#", "@",
    "`", "? [a]\n: b\n", ": 5\n", "&a [*a]",
)  # fmt: skip
ODD_VALUES = (
    "",
    "[",
    "[]",
    "[[]]",
    "{a: 1}",
    '"',
    "-1",
    "1e999",
    "true",
    "nan",
    "*a",
    "[null]",
    "~x",
    "9" * 5000,
    "%%",
)


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few splinters stuck in and a few characters lost."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.7:
            text = text[:at] + rng.choice(SPLINTERS) + text[at:]
        else:
            text = text[:at] + text[at + rng.randint(1, 8) :]
    return text


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_file_is_loaded_or_refused(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        Path("odd.yaml").write_text(mutated(CONFIG, rng))
        with contextlib.suppress(ConfigError):
            load_config("odd.yaml")


@pytest.mark.parametrize("value", ODD_VALUES, ids=range(len(ODD_VALUES)))
def test_an_odd_value_of_any_key_is_loaded_or_refused(folder: Path, value: str) -> None:
    Path("good.yaml").write_text(MINIMAL)
    for key in kinds():
        try:
            load_config("good.yaml", [f"--{key}={value}"])
        except ConfigError as refusal:
            assert key in str(refusal)


def test_nothing_in_a_refused_file_reaches_the_terminal_as_a_command(folder: Path) -> None:
    Path("odd.yaml").write_text(MINIMAL + "  eval_dataset: 'a\x1b]0;x\x07b'\n")
    with pytest.raises(ConfigError) as raw:
        load_config("odd.yaml")
    Path("odd.yaml").write_text(MINIMAL + 'train:\n  optimizer: "\\e[31m\\u202egnp"\n  "\\e[2Jlr": 3\n')
    with pytest.raises(ConfigError) as escaped:
        load_config("odd.yaml")
    for refusal in (raw, escaped):
        said = str(refusal.value)
        assert "␛" in said and not set("\x1b\x07\u202e") & set(said)
