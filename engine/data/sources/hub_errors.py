"""Why the hub gives no data, in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from engine.data.errors import DataError

_SUBSETS = re.compile(r"(?:available configs|Available): \[(?P<names>.*)\]")


class NoNetworkError(Exception):
    """The hub cannot be reached, or must not be asked; the text is the sentence for the user."""


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turns what the hub's clients raise within into a sentence about the data set `name`.

    Raises:
        NoNetworkError: the hub cannot be reached.
        DataError: any other reason.
    """
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # the hub's clients and their transport have no common ancestor below this one
        if _is_without_network(error):
            raise NoNetworkError(_without_network(name)) from error
        raise DataError(_reason(name, error)) from error


def _is_without_network(error: BaseException) -> bool:
    from huggingface_hub import errors

    # The client's transport is httpx in one version and httpx2 in the next, so its errors go by their module.
    is_of_transport = type(error).__module__.startswith("httpx")
    kinds = (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, ConnectionError, TimeoutError)
    return is_of_transport or isinstance(error, kinds)


def _without_network(name: str) -> str:
    offline = [key for key in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE") if os.environ.get(key, "") not in ("", "0")]
    why = f"{offline[0]} is set" if offline else "the hub cannot be reached"
    return (
        f"{name} is neither a local file or folder nor in the local cache of the hub, and {why}: connect this machine "
        "once, or give the path of local files."
    )


def _reason(name: str, error: Exception) -> str:
    from datasets import exceptions
    from huggingface_hub import errors

    said = str(error)
    if isinstance(error, errors.GatedRepoError) or "gated dataset" in said:
        return (
            f"{name} is gated: accept its conditions on its hub page, then log in with `hf auth login` or set HF_TOKEN."
        )
    if isinstance(error, exceptions.DataFilesNotFoundError) or type(error).__name__ == "EmptyDatasetError":
        return f"{name} on the hub holds no files that are data."
    if isinstance(error, (exceptions.DatasetNotFoundError, errors.RepositoryNotFoundError)):
        return (
            f"there is no local file or folder {name}, and the hub has no data set of that name, or it is private: "
            "check the name, or log in with `hf auth login`."
        )
    if isinstance(error, errors.HFValidationError):
        return f"{name!r} is neither a local file or folder nor the name of a data set on the hub (owner/name)."
    if found := _SUBSETS.search(said):
        return _subsets(name, found["names"].replace("'", ""))
    if "scripts are no longer supported" in said:
        return f"{name} needs a script of its own, which `datasets` no longer runs; look for one that is plain files."
    return f"{name} could not be had from the hub: {said.partition(chr(10))[0] or type(error).__name__}"


def _subsets(name: str, names: str) -> str:
    repository, _, subset = name.partition(":")
    first = names.partition(",")[0]
    found = f"{repository} has no subset {subset!r}" if subset else f"{repository} has several subsets"
    return f"{found}; write one of them behind a colon, such as {repository}:{first} (there is: {names})."
