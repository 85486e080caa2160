"""The table of symptoms: complete, and its advice names real keys with values that a config accepts."""

from __future__ import annotations

from typing import get_args

import pytest

from engine.config.schema import Config, Model, Train
from engine.events.types import Severity
from engine.health import SYMPTOMS, advise
from engine.health.symptoms import advised_keys


@pytest.mark.parametrize("code", SYMPTOMS)
def test_every_entry_is_complete(code: str) -> None:
    symptom = SYMPTOMS[code]
    assert symptom.severity in get_args(Severity) and symptom.grave in get_args(Severity)
    assert symptom.meaning and symptom.remedies
    assert "\n" not in symptom.meaning


def test_advised_keys_exist_in_the_config() -> None:
    config = Config(model=Model(name_or_path="model"))
    for key in advised_keys():
        section, name = key.split(".")
        assert hasattr(getattr(config, section), name)


def test_a_not_finite_loss_advises_a_tenth_of_the_rate() -> None:
    (advice,) = advise("NON_FINITE_LOSS", {"train.learning_rate": 1e-5, "train.optimizer": "adamw"})
    assert (advice.key, advice.value) == ("train.learning_rate", 1e-6)


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


def test_whole_numbers_stay_whole() -> None:
    (advice,) = advise("NO_TRAINABLE_TOKENS", {"data.max_seq_length": 2048})
    assert advice.value == 4096 and isinstance(advice.value, int)


def test_advised_values_pass_the_config() -> None:
    defaults = Train()
    settings = {key: getattr(defaults, key.split(".")[1], None) for key in advised_keys() if key.startswith("train.")}
    for code in SYMPTOMS:
        for advice in advise(code, settings):
            if advice.key.startswith("train."):
                Train(**{advice.key.split(".")[1]: advice.value})
