"""A real tokenizer with its own chat template: the very tokens, and loss on the answers and their ends alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from engine.data.rendering.rendered import Rendered
from engine.data.rendering.renderer import Renderer
from tests.data.template.real import conversation, turn


@pytest.mark.real
@pytest.mark.xdist_group("smollm2")
def test_the_masks_of_a_real_tokenizer(smollm2_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    renderer = Renderer(tokenizer)
    turns = (
        turn("user", "Say <|im_end|> in the café."),
        turn("assistant", "So <|im_start|>, 漢字 \U0001f600\n"),
        turn("user", "More?"),
        turn("assistant", "No."),
    )
    (rendered,) = renderer.render([conversation(*turns)])
    assert isinstance(rendered, Rendered)
    assert tokenizer.decode(rendered.input_ids) == str.__getitem__(rendered.text, slice(None))
    trained = [label for label in rendered.labels if label >= 0]
    assert tokenizer.decode(trained) == "So <|im_start|>, 漢字 \U0001f600\n<|im_end|>No.<|im_end|>"
    end, start = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|im_start|>"])
    assert list(rendered.input_ids).count(end) == 5 and trained.count(end) == 2 and trained.count(start) == 0
    assert renderer.facts is not None
    assert "SmolLM" in renderer.facts.added_system_prompt

    (plain,) = renderer.render([conversation(turn("user", "One?"), turn("assistant", "It is one."))])
    assert isinstance(plain, Rendered)
    messages = [{"role": "user", "content": "One?"}, {"role": "assistant", "content": "It is one."}]
    own = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False)
    assert list(plain.input_ids) == list(own)
