"""The table of symptoms: complete, and its advice makes configs that are accepted."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import engine
from engine.cli import build_parser
from engine.config import Config, Data, Memory, Model, Train, dump_config, load_config
from engine.config.edit import changed_text
from engine.config.kinds import kinds
from engine.events.types import Advice, Severity
from engine.health import SYMPTOMS, advise, settings_of
from engine.health.advice import advised_keys, as_text
from engine.health.symptom import CAUSE, Settings

RECIPES = sorted(Path("configs").rglob("*.yaml"))
FACTS = {"rows": 4, "longest_row": 1500, "best_step": 40, "save_every": 60, "checkpoint": "checkpoints/step-3"}
CAUSES = sorted({cause for one in SYMPTOMS.values() for remedy in one.remedies for cause in remedy.causes}) or [""]


def made(memory: Memory | None = None, **train: object) -> Config:
    return Config(
        model=Model(name_or_path="m"),
        data=Data(dataset=("d.jsonl",)),
        train=Train(**train),  # type: ignore[arg-type]
        memory=memory or Memory(),
    )


CONFIGS = {
    **{str(path): load_config(path, check_files=False).config for path in RECIPES},
    "lion with release": made(Memory(gradient_release=True), optimizer="lion", learning_rate=1e-5),
    "adamw": made(optimizer="adamw"),
    "a lowest rate above a tenth": made(learning_rate=1e-5, min_learning_rate=5e-6),
    "a large decay": made(optimizer="lion", weight_decay=0.5, learning_rate=2e-4),
    "four rows": made(
        Memory(layer_slices=4), per_device_batch_size=4, gradient_accumulation_steps=4, gradient_checkpointing="full"
    ),
    "a warm-up in steps": made(warmup_steps=50, max_steps=200),
}


@pytest.mark.parametrize("code", SYMPTOMS)
def test_every_entry_is_complete(code: str) -> None:
    symptom = SYMPTOMS[code]
    assert symptom.severity in get_args(Severity) and symptom.grave in get_args(Severity)
    assert symptom.meaning and "\n" not in symptom.meaning
    assert symptom.remedies or symptom.beyond, "an alert says what to do"
    advised = {advice.key for config in CONFIGS.values() for advice in all_advice(code, settings_of(config))}
    assert bool(advised) == bool(symptom.remedies), "what is offered can be written, in some run at least"


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_every_advice_makes_a_config_that_is_accepted(config: Config) -> None:
    text, settings = dump_config(config), settings_of(config)
    made_by: dict[str, str] = {}
    for code in SYMPTOMS:
        for advice in all_advice(code, settings):
            assert advice.value is not None or settings[advice.key] is not None, f"{code}: a value that is known"
            if repr(advice) not in made_by:
                made_by[repr(advice)] = changed_text(text, {advice.key: advice.value, **dict(advice.also)})
            assert made_by[repr(advice)] != text, f"{code}: {as_text(advice)} changes nothing"


def all_advice(code: str, settings: Settings) -> Iterator[Advice]:
    """That of each cause, where an alert has several."""
    has_causes = any(remedy.causes for remedy in SYMPTOMS[code].remedies)
    for cause in CAUSES if has_causes else [""]:
        yield from advise(code, settings, {**FACTS, CAUSE: cause})


def test_advised_keys_exist_in_the_config() -> None:
    assert advised_keys() <= kinds().keys()


def test_a_not_finite_loss_advises_a_tenth_of_the_rate_and_of_the_lowest_one_above_it() -> None:
    (advice,) = advise("NON_FINITE_LOSS", settings_of(CONFIGS["a lowest rate above a tenth"]))
    assert (advice.key, advice.value) == ("train.learning_rate", 1e-6)
    assert advice.also == (("train.min_learning_rate", 5e-7),)
    assert as_text(advice).startswith("train.learning_rate: 1e-06 with train.min_learning_rate: 5e-07 (")


def test_gradient_release_is_advised_without_clipping() -> None:
    by_key = {advice.key: advice for advice in advise("OUT_OF_MEMORY", settings_of(CONFIGS["adamw"]))}
    assert by_key["memory.gradient_release"].also == (("train.max_grad_norm", None),)


def test_a_row_less_keeps_the_chats_of_a_step_as_nearly_as_it_can() -> None:
    settings = settings_of(CONFIGS["four rows"])
    by_key = {advice.key: advice for advice in advise("OUT_OF_MEMORY", settings)}
    batch = by_key["train.per_device_batch_size"]
    assert batch.value == 3
    assert batch.also == (("train.gradient_accumulation_steps", 5), ("memory.layer_slices", 3))
    assert batch.why == "a step of 15 chats instead of 16"


@pytest.mark.parametrize("optimizer", ["lion", "lion8bit"])
def test_lion_gets_its_own_advice_for_a_climbing_gradient(optimizer: str) -> None:
    settings = {"train.learning_rate": 2e-4, "train.weight_decay": 0.01, "train.optimizer": optimizer}
    rate, decay = advise("GRAD_NORM_CLIMB", settings)
    assert (rate.key, rate.value) == ("train.learning_rate", 4e-5)
    assert "Lion" in rate.why and "3 to 10" in rate.why
    assert (decay.key, decay.value) == ("train.weight_decay", 0.05)


def test_a_setting_of_zero_is_not_multiplied() -> None:
    settings = {"train.learning_rate": 2e-4, "train.weight_decay": 0.0, "train.optimizer": "lion"}
    assert [advice.key for advice in advise("GRAD_NORM_CLIMB", settings)] == ["train.learning_rate"]


def test_adamw_is_not_told_about_lion() -> None:
    advice = advise("GRAD_NORM_CLIMB", {"train.learning_rate": 2e-4, "train.optimizer": "adamw"})
    assert all("Lion" not in item.why for item in advice)


def test_a_log_of_another_tool_gets_advice_without_values() -> None:
    advice = advise("FLAT", {})
    assert advice[0].key == "train.learning_rate" and advice[0].value is None and "double" in advice[0].why


def test_a_code_of_a_later_version_has_no_advice() -> None:
    assert advise("NOT_KNOWN_YET", {}) == ()


def test_whole_numbers_stay_whole() -> None:
    (advice,) = advise("NO_TRAINABLE_TOKENS", {"data.max_seq_length": 2048})
    assert advice.value == 4096 and isinstance(advice.value, int)


def test_the_commands_that_alerts_name_exist() -> None:
    parser = build_parser()
    for symptom in SYMPTOMS.values():
        for text in (symptom.meaning, symptom.beyond, symptom.ending):
            for command in re.findall(r"`(pgs [^`]+)`", text):
                _, unknown = parser.parse_known_args(shlex.split(command)[1:])
                assert unknown == [], command


ROOMS = ("train", "session", "monitor", "checkpoint", "events", "model", "backward", "health")


def test_every_alert_that_the_engine_raises_stands_in_the_table() -> None:
    folder = Path(engine.__file__).parent
    files = [path for room in ROOMS for path in (folder / room).rglob("*.py")] + [folder / "run.py"]
    raised = {code for path in files for code in codes_in(path.read_text(encoding="utf-8"))}
    assert {"GPU_LOST", "PACKING_OFF", "SAVE_FAILED", "WEIGHTS_NOT_FINITE", "OUT_OF_MEMORY"} <= raised, "it is found"
    assert raised - SYMPTOMS.keys() == set()


def codes_in(source: str) -> Iterator[str]:
    """The codes that a module gives to alerts and errors: arguments and class attributes named `code`, and failures."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            if isinstance(node.func, ast.Name) and node.func.id == "Failure" and node.args:
                found.append(node.args[0])
        if isinstance(node, ast.ClassDef):
            found += [
                item.value
                for item in node.body
                if isinstance(item, ast.Assign) and [ast.unparse(target) for target in item.targets] == ["code"]
            ]
    yield from (value for name, value in constants.items() if name == value)
    for value in found:
        code = constants.get(value.id) if isinstance(value, ast.Name) else getattr(value, "value", None)
        if isinstance(code, str):
            yield code
