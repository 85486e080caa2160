"""Files that torch reads as tensors alone: how its refusal of one that holds something else is known. No torch import.

A pickle can name any function to be called when it is loaded. torch with `weights_only` calls none but those that make
tensors; its own message then advises to load the file without that, which is the very thing not to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pickle import UnpicklingError

_REFUSED = "Weights only load failed"
_NAMED = re.compile(r"GLOBAL ([\w.]+)")


def what_was_refused(error: BaseException) -> str | None:
    """What the file would have had called ("posix.system"), empty where torch does not name it.

    None where the error is of another kind, as that of a damaged file.
    """
    told = [str(one) for one in _with_its_causes(error) if isinstance(one, UnpicklingError)]
    names = [named[1].rstrip(".") for text in told if (named := _NAMED.search(text))]
    if names:
        return names[0]
    return "" if any(_REFUSED in text for text in told) else None


def _with_its_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
