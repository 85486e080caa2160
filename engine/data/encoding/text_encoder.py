"""Traced text to token ids, where only the template can write control tokens.

Control tokens are the tokenizer's special tokens and those that open and end a turn. Other added tokens (think and
tool-call tags in many models) are vocabulary that an answer may use, and stay so.
A text whose data holds nothing that looks like a control token is encoded as it is, so its ids are the tokenizer's
own. Otherwise each control token that the template wrote is replaced by one private-use character, and a twin of the
tokenizer that knows these characters in place of its control tokens encodes the text: what the data typed stays text.
"""

from __future__ import annotations

import copy
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Encoding, Tokenizer

from engine.data.encoding.byte_batch import ByteBatch
from engine.data.encoding.byte_tokens import ByteTokens
from engine.data.encoding.encoded import EncodedText
from engine.data.encoding.starts import TokenStarts, place_of
from engine.data.errors import DataError
from engine.data.masking.draft import Draft
from engine.data.template.layout import data_pieces, data_spans, template_gaps
from engine.data.template.traced import TracedStr

_FIRST_PRIVATE = 0x10_0000  # plane 16, private use throughout


class SpecialTextError(ValueError):
    """Text of the data cannot be kept apart from the tokenizer's special tokens; the message is the reason."""


class TextEncoder:
    """Encodes rendered chats with a fast tokenizer; adds no token of its own.

    `turn_tokens` are control tokens even where the tokenizer does not call them special.

    Raises:
        DataError: the tokenizer has no fast (Rust) version.
    """

    def __init__(self, tokenizer: Any, turn_tokens: Collection[str] = ()) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise DataError("The model's tokenizer has no fast version (tokenizer.json), which the loss mask needs.")
        self._backend = _bare(backend)
        added = backend.get_added_tokens_decoder()
        self._ids = {token.content: token_id for token_id, token in added.items()}
        self._control = {
            token_id: token.content
            for token_id, token in added.items()
            if token.special or token.content in turn_tokens
        }
        self._byte_tokens = ByteTokens.of(self._backend)
        self._is_control = np.zeros(2 + max(self._control, default=0), dtype=np.bool_)  # ids above count as the last
        self._is_control[list(self._control)] = True

    def encode(self, drafts: Sequence[Draft]) -> list[EncodedText | SpecialTextError]:
        """One result a draft, in order."""
        quick = self._byte_tokens
        found = self._encode_bytes(drafts, quick) if quick is not None else [None] * len(drafts)
        others = [draft for draft, one in zip(drafts, found, strict=True) if one is None]
        encoded = iter(self._encode_with_places(others) if others else ())
        return [next(encoded) if one is None else one for one in found]

    def _encode_bytes(self, drafts: Sequence[Draft], byte_tokens: ByteTokens) -> list[EncodedText | None]:
        """The quick way: the tokenizer says what the tokens are, and their bytes where they stand. None where not."""
        plain = [draft.plain for draft in drafts]
        is_read = [byte_tokens.reads(text) for text in plain]
        read = list(compress(plain, is_read))
        if not read:
            return [None] * len(drafts)
        ids = [encoding.ids for encoding in self._backend.encode_batch_fast(read, add_special_tokens=False)]
        batch = ByteBatch(byte_tokens, list(compress(drafts, is_read)), read, ids)
        encoded = iter(batch.encoded(self._is_control))
        return [next(encoded) if is_one else None for is_one in is_read]

    def _encode_with_places(self, drafts: Sequence[Draft]) -> list[EncodedText | SpecialTextError]:
        """The same for all tokenizers and texts: the tokenizer says where each token stands."""
        encodings = self._backend.encode_batch([draft.plain for draft in drafts], add_special_tokens=False)
        return [self._checked(draft, encoding) for draft, encoding in zip(drafts, encodings, strict=True)]

    def _checked(self, draft: Draft, encoding: Encoding) -> EncodedText | SpecialTextError:
        ids = encoding.ids
        array = np.fromiter(ids, dtype=np.int32, count=len(ids))
        special_texts = self._written_by_data(draft.text, array, encoding)
        if not special_texts:
            starts = TokenStarts(encoding)
            return EncodedText(ids, starts, list(map(starts.tokens_before, draft.borders)), array=array)
        try:
            return self._encode_apart(draft, special_texts)
        except SpecialTextError as error:
            return error

    def _written_by_data(self, text: TracedStr, ids: NDArray[np.int32], encoding: Encoding) -> tuple[str, ...]:
        """Control tokens that the tokenizer found in places where the data has a part in them."""
        control = self._is_control[np.minimum(ids, len(self._is_control) - 1)].nonzero()[0].tolist()
        starts, stops = data_spans(text) if control else ([], [])
        written: list[str] = []
        for number in control:
            start, stop = place_of(encoding, number)
            content = self._control[int(ids[number])]
            if stop - start != len(content):
                start, stop = self._core(text, content, (start, stop))
            piece = bisect_right(starts, stop - 1) - 1
            if piece >= 0 and stops[piece] > start:
                written.append(str.__getitem__(text, slice(start, stop)))
        return tuple(written)

    def _core(self, text: str, content: str, offset: tuple[int, int]) -> tuple[int, int]:
        """The token itself without white space beside it that it swallowed."""
        start = text.find(content, *offset)
        return (start, start + len(content)) if start >= 0 else offset

    def _encode_apart(self, draft: Draft, special_texts: tuple[str, ...]) -> EncodedText:
        private, positions = self._with_private_characters(draft.text)
        encoding = self._twin.encode(private, add_special_tokens=False)
        ids = [self._original_ids.get(token_id, token_id) for token_id in encoding.ids]
        for given, token_id in zip(encoding.ids, ids, strict=True):
            if given not in self._original_ids and token_id in self._control:
                raise SpecialTextError(
                    f"the tokenizer makes the special token {self._control[token_id]!r} even of plain text"
                )
        starts = [positions[start] for start, _ in encoding.offsets]
        return EncodedText(ids, starts, [bisect_left(starts, border) for border in draft.borders], special_texts)

    def _with_private_characters(self, text: TracedStr) -> tuple[str, list[int]]:
        """The text with the template's tokens as one character each, and each character's place in `text`."""
        plain = str.__getitem__(text, slice(None))
        if any(character in self._private.values() for character in set(plain)):
            raise SpecialTextError("it holds private-use characters (U+100000 and up) beside special tokens as text")
        parts: list[str] = []
        positions: list[int] = []
        pieces = data_pieces(text)
        for number, (start, stop) in enumerate(template_gaps(pieces, len(plain))):
            position = start
            for match in self._pattern.finditer(plain, start, stop):
                parts += [plain[position : match.start()], self._private[match.group()]]
                positions += range(position, match.start() + 1)
                position = match.end()
            after = pieces[number].stop if number < len(pieces) else stop
            parts.append(plain[position:after])
            positions += range(position, after)
        return "".join(parts), [*positions, len(plain)]

    @cached_property
    def _private(self) -> dict[str, str]:
        contents = sorted(self._control.values())
        return {content: chr(_FIRST_PRIVATE + number) for number, content in enumerate(contents)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._control.values(), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    @cached_property
    def _twin(self) -> Tokenizer:
        """The tokenizer with private-use characters in place of its control tokens."""
        spec = json.loads(self._backend.to_str())
        twin = Tokenizer.from_str(json.dumps({**spec, "added_tokens": []}))
        for token in spec["added_tokens"]:
            flags = {key: token[key] for key in ("single_word", "lstrip", "rstrip", "normalized")}
            twin.add_tokens([AddedToken(self._in_twin(token["content"]), **flags)])
        return twin

    @cached_property
    def _original_ids(self) -> dict[int | None, int]:
        """From the ids of the twin's added tokens to the tokenizer's."""
        return {self._twin.token_to_id(self._in_twin(text)): token_id for text, token_id in self._ids.items()}

    def _in_twin(self, content: str) -> str:
        return self._private.get(content, content)


def _bare(backend: Tokenizer) -> Tokenizer:
    """The tokenizer without truncation and padding, and without a post-processor, which adds tokens or trims offsets.

    Special tokens are found in the text, also by a tokenizer that would split them (`split_special_tokens`).

    It shares the vocabulary where that gives the same added tokens: to copy a large one takes a tenth of a second.
    """
    bare = Tokenizer(backend.model)
    if backend.normalizer is not None:
        bare.normalizer = backend.normalizer
    if backend.pre_tokenizer is not None:
        bare.pre_tokenizer = backend.pre_tokenizer
    for _, token in sorted(backend.get_added_tokens_decoder().items()):
        (bare.add_special_tokens if token.special else bare.add_tokens)([token])
    if _added(bare) == _added(backend):
        return bare
    bare = copy.deepcopy(backend)
    bare.encode_special_tokens = False
    bare.post_processor = None
    bare.no_truncation()
    bare.no_padding()
    return bare


def _added(backend: Tokenizer) -> dict[int, str]:
    return {token_id: repr(token) for token_id, token in backend.get_added_tokens_decoder().items()}
