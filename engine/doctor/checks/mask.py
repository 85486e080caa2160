"""Something is trained, and the end of each answer with it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from engine.config import ConfigError, Data, Loaded, load_config
from engine.data.examine import Examined
from engine.data.masking.reasons import Why
from engine.doctor.checks.sizes import model_folder
from engine.doctor.result import Outcome, Patient, failed, ok, warning
from engine.doctor.runner import NotHereError

ROWS = 64
"""So many of the first training rows are looked at; `pgs validate` looks at all."""


def check_mask(patient: Patient) -> Outcome:
    """Render the config's first rows (else the quickstart's) as training does, and look at what has loss."""
    loaded = patient.loaded or _quickstart()
    return judge(_first_rows(loaded))


def judge(rows: Iterable[Examined]) -> Outcome:
    """The verdict on rows as training sees them."""
    examined = list(rows)
    usable = [row for row in examined if row.kept]
    loss = sum(int(row.has_loss[: row.kept].sum()) for row in usable)
    total = sum(row.kept for row in usable)
    looked_at = f"{len(examined)} row{'s' if len(examined) != 1 else ''}"
    if not loss:
        bad = next((str(row.bad) for row in examined if row.bad is not None), "no answer within the limit of length")
        return failed(f"no token of the first {looked_at} has loss: {bad}", "pgs validate --config FILE")
    chats = [row for row in usable if not row.is_truncated and _has_answer(row)]
    endless = [row for row in chats if not _trains_its_end(row)]
    if endless:
        return failed(
            f"the token that ends the answer has no loss in {len(endless)} of {len(chats)} chats, the first: row "
            f"{endless[0].row}; a model trained so does not stop",
            "use a chat template that ends each answer itself: pgs inspect --config FILE --tokens shows the row",
        )
    found = f"{loss:,} of {total:,} tokens in the first {looked_at} have loss"
    lost = len(examined) - len(usable)
    if lost:
        return warning(f"{found}; {lost} of the rows cannot be trained on", "pgs validate --config FILE tells which")
    if not chats:
        return ok(f"{found}; there is no whole chat among them")
    return ok(f"{found}, the end of all {len(chats)} whole answers among them")


def _has_answer(row: Examined) -> bool:
    assert row.rendered is not None
    return any(segment.why is Why.ANSWER and segment.loss for segment in row.rendered.segments)


def _trains_its_end(row: Examined) -> bool:
    """Whether a token that ends the turn has loss, behind the last answer's text."""
    assert row.rendered is not None
    segments = row.rendered.segments
    answers = [place for place, one in enumerate(segments) if one.why is Why.ANSWER and one.loss]
    return any(one.why is Why.TURN_END and one.loss for one in segments[answers[-1] :])


def _first_rows(loaded: Loaded) -> list[Examined]:
    import torch  # noqa: F401  the inspector hides it from a process that has not loaded it, and other checks need it

    from engine.inspect.opening import open_inspection

    model_folder(loaded.config)  # says so where the tokenizer would have to be downloaded
    if not all(Path(source).is_absolute() for source in _sources(loaded.config.data)):
        raise NotHereError("the data is on the hub: `pgs validate --config FILE` downloads and audits it")
    inspection = open_inspection(loaded)
    rows = inspection.rows
    examined: list[Examined] = []
    for batch in rows.batches(0, min(ROWS, rows.training_rows)):
        examined += inspection.examiner.examine(batch)
    return examined


def _sources(data: Data) -> list[str]:
    """All data sets of a config: absolute paths, and names on the hub."""
    return [*data.dataset, *(source.path for source in data.sources), *(data.eval_dataset or ())]


def _quickstart() -> Loaded:
    """The config that comes with the program: in the source tree, or in the installed package."""
    root = Path(sys.modules["engine"].__file__ or "").resolve().parents[1]
    for folder in (root / "configs", root / "pgs_tui" / "configs"):
        if (folder / "quickstart.yaml").is_file():
            try:
                return load_config(folder / "quickstart.yaml")
            except ConfigError as error:
                raise NotHereError(f"the quickstart that comes with the program cannot be used: {error}") from error
    raise NotHereError("the quickstart's data is not installed; give a config of your own")
