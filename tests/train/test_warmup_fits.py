"""A warm-up is held against the number of steps that the data gives, before anything is trained."""

from collections.abc import Callable

from engine.events import Step

from .conftest import Outcome


def test_a_warmup_longer_than_the_epochs_is_refused_before_the_start(train: Callable[..., Outcome]) -> None:
    steps = ("--train.max_steps", "null", "--train.epochs", 1, "--train.per_device_batch_size", 1)  # sixty chats
    done = train(*steps, "--train.warmup_steps", 100, "--train.learning_rate", "1.0e-4")
    assert done.code == 1 and not done.of(Step)
    assert (
        done.end.reason and "the warm-up of 100 steps is longer than the run of 60 optimizer steps" in done.end.reason
    )
    assert "the highest rate reached is 6.0e-5 (60% of 1.0e-4)" in done.end.reason
