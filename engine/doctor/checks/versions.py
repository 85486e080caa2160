"""Python and the libraries, against the versions that this program's own metadata asks for."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping

from packaging.requirements import Requirement

from engine.doctor.result import Outcome, Patient, failed, ok, warning

DECISIVE = ("torch", "transformers", "bitsandbytes", "safetensors", "tokenizers")
"""What decides a run's numbers, named where all is well."""
_OWN_NAME = "pgs-tui"


def check_versions(patient: Patient) -> Outcome:
    """Whether each library is there in a version that this program was made for."""
    try:
        wanted = [Requirement(text) for text in importlib.metadata.requires(_OWN_NAME) or ()]
    except importlib.metadata.PackageNotFoundError:
        return warning(f"{_OWN_NAME} is not installed, so nothing says which versions it needs", "./run.sh")
    needed = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return judge(needed, {one.name: _version(one.name) for one in needed})


def judge(needed: list[Requirement], installed: Mapping[str, str | None]) -> Outcome:
    """The verdict from requirements and installed versions, None for what is not there."""
    wrong = [one for one in needed if not _fits(one, installed[one.name])]
    if wrong:
        found = ", ".join(f"{one.name} {installed[one.name] or 'missing'} (needs {one.specifier})" for one in wrong)
        return failed(f"not as this program needs it: {found}", f"pip install {' '.join(f'{one!s}' for one in wrong)}")
    named = ", ".join(f"{name} {installed[name]}" for name in DECISIVE if installed.get(name))
    return ok(f"Python {platform.python_version()}, {named}")


def _fits(requirement: Requirement, version: str | None) -> bool:
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
