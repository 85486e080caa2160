"""From the config's `data` section to the sources of training and of evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.data.sources.folder import EVALUATION
from engine.data.sources.rows import SourceSpec


class NamedSource(Protocol):
    """One entry of `data.sources`."""

    @property
    def path(self) -> str: ...
    @property
    def split(self) -> str: ...
    @property
    def weight(self) -> float: ...


class SourcesConfig(Protocol):
    """What is read of the config's `data` section to know where rows come from."""

    @property
    def dataset(self) -> Sequence[str]: ...
    @property
    def dataset_split(self) -> str: ...
    @property
    def sources(self) -> Sequence[NamedSource]: ...
    @property
    def eval_dataset(self) -> Sequence[str] | None: ...
    @property
    def eval_split(self) -> float | str | None: ...


def specs_of(config: SourcesConfig) -> tuple[list[SourceSpec], list[SourceSpec]]:
    """The sources to train on and those to evaluate on.

    Those of evaluation are `data.eval_dataset`, or, where `data.eval_split` is the name of a split, that split of
    everything that is trained on. They are empty without evaluation, and where a share of the rows is held out.
    """
    if config.sources:
        train = [SourceSpec(source.path, source.split, source.weight) for source in config.sources]
    else:
        train = [SourceSpec(path, config.dataset_split) for path in config.dataset]
    if config.eval_dataset is not None:
        return train, [SourceSpec(path, EVALUATION) for path in config.eval_dataset]
    if isinstance(config.eval_split, str):
        return train, [SourceSpec(source.path, config.eval_split) for source in train]
    return train, []
