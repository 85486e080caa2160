"""Small chat templates, each with one habit of real ones."""

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% endif %}"
    "{% for c in m['tool_calls'] or [] %}{{ '<tool_call>' }}"
    "{{ {'name': c['function']['name'], 'arguments': c['function']['arguments']} | tojson }}"
    "{{ '</tool_call>' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

THINK = (
    "{% set ns = namespace(lu=-1) %}{% for m in messages %}{% if m['role'] == 'user' %}"
    "{% set ns.lu = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' }}{% if m['role'] == 'assistant' %}"
    "{% set r = m['reasoning_content'] or '' %}{% set c = m['content'] or '' %}"
    "{% if not r and '<think>' in c and '</think>' in c %}"
    "{% set r = c.split('</think>')[0].split('<think>')[-1].strip('\\n') %}"
    "{% set c = c.split('</think>')[-1].lstrip('\\n') %}{% endif %}"
    "{% if loop.index0 > ns.lu %}{{ '<think>\\n' + r + '\\n</think>\\n\\n' + c }}{% else %}{{ c }}{% endif %}"
    "{% else %}{{ m['content'] }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)

TRIM = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<|h|>' + m['role'] + '<|/h|>\\n\\n' + (m['content'] | trim) + '<|eot|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|h|>assistant<|/h|>\\n\\n' }}{% endif %}"
)

NEXT = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)

DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are Fern.<|im_end|>\\n' }}{% endif %}"
    + CHATML
)

ALTERNATING = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate user/assistant') }}{% endif %}"
    "{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role']) + '\\n' }}"
    "{{ m['content'] | trim }}{{ '<end_of_turn>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)

OPENED_THINK = THINK.replace(
    "{{ '<|im_start|>assistant\\n' }}{% endif %}", "{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"
)
"""Like THINK, but inference supplies the opening think tag."""

LAST_QUESTION = (
    "{%- macro shown(content) %}{%- if content is string %}{{- content }}{%- else %}"
    "{%- for part in content %}{{- part.text }}{%- endfor %}{%- endif %}{%- endmacro %}"
    "{%- set seen = namespace(searching=true, last=messages | length - 1) %}"
    "{%- for m in messages[::-1] %}{%- set text = shown(m.content) | trim %}"
    "{%- if seen.searching and m.role == 'user' and not (text.startswith('<tool_response>') "
    "and text.endswith('</tool_response>')) %}"
    "{%- set seen.searching = false %}{%- set seen.last = messages | length - 1 - loop.index0 %}{%- endif %}"
    "{%- endfor %}"
    "{%- for m in messages %}{%- set text = shown(m.content) | trim %}{%- set thought = '' %}"
    "{%- if m.role == 'assistant' %}{%- if m.reasoning_content is string %}{%- set thought = m.reasoning_content %}"
    "{%- elif '</think>' in text %}"
    "{%- set thought = text.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}"
    "{%- set text = text.split('</think>')[-1].lstrip('\n') %}{%- endif %}{%- endif %}"
    "{{- '<|im_start|>' ~ m.role ~ '\n' }}"
    "{%- if m.role == 'assistant' and loop.index0 > seen.last %}"
    "{% generation %}{{- '<think>\n' + thought | trim + '\n</think>\n\n' + text }}{% endgeneration %}"
    "{%- else %}{{- text }}{%- endif %}"
    "{{- '<|im_end|>\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}"
    "{%- else %}{{- '<think>\n' }}{%- endif %}{%- endif %}"
)
"""Macro, reversed loop, namespace, generation tag; reasoning split off and kept after the last question only."""

UNTRACEABLE = "{% for m in messages %}{{ m.content }}{{ m.content | pprint }}{% endfor %}"
"""Prints the data's text once more in a way that loses where it comes from."""

XML_CALLS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{{ m.content }}"
    "{% for call in m.tool_calls or [] %}{% set f = call.function %}"
    "{{ '<tool_call>\n<function=' + f.name + '>\n' }}"
    "{% for key, value in f.arguments.items() %}{{ '<parameter=' + key + '>\n' }}"
    "{{ value | tojson if value is mapping or (value is iterable and value is not string) else value | string }}"
    "{{ '\n</parameter>\n' }}{% endfor %}{{ '</function>\n</tool_call>' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""A call's arguments one by one between tags, keys among them."""

JSON_ARGUMENTS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}"
    "{% for call in m.tool_calls or [] %}{{ call.function.name + ': ' + call.function.arguments }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Takes the arguments of a call as a string alone."""

PARTS = (
    "{% for m in messages %}{{ m.role | capitalize + ': ' }}"
    "{% for part in m.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
    "{{ '<|eot|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
"""Takes content as a list of parts alone; inference supplies the header without its space."""

CHANNELS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.thinking and loop.last %}{{ '<|h|>assistant<|/h|>analysis<|bos|>' + m.thinking + '<|eot|>' }}{% endif %}"
    "{{ '<|h|>assistant<|/h|>final<|bos|>' + m.content }}{{ '<|eos|>' if loop.last else '<|eot|>' }}"
    "{% else %}{{ '<|h|>' + m.role + '<|bos|>' + m.content + '<|eot|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|h|>assistant<|/h|>' }}{% endif %}"
)
"""Segments with a channel each, which the assistant names itself, and another end for the last answer."""

END_LAST = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ '<|user|> ' + m.content }}"
    "{% else %}{{ ' <|assistant|> ' + m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ ' <|assistant|> ' }}{% else %}{{ eos_token }}{% endif %}"
)
"""Only the last answer has an end."""

DATED = "{{ '<|h|>Today is ' + strftime_now('%d %B %Y') + '.<|eot|>' }}" + CHATML
"""Prints the date of the day."""

BUILT_IN_SYSTEM = (
    "{% set has_system = messages[0].role == 'system' %}"
    "{{ '<|im_start|>system\nKnowledge ends in December 2023.\n\n' }}"
    "{{ messages[0].content if has_system else '' }}{{ '<|im_end|>\n' }}"
    "{% for m in (messages[1:] if has_system else messages) %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Puts text of its own into every system turn."""

LITERAL = (
    "{% for m in messages %}{{ '### ' + m.role | capitalize + ':\n' + m.content + '\n\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Assistant:\n' }}{% endif %}"
)
"""Headers of plain text, and no special token at all."""

MARKED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""Marks around the answers and their ends."""

MARKED_TOO_SHORT = MARKED.replace(
    "{{ m.content + '<|im_end|>' }}{% endgeneration %}", "{{ m.content }}{% endgeneration %}{{ '<|im_end|>' }}"
)
"""Marks that leave out the end."""

MARKED_TOO_EARLY = (
    MARKED.replace("{{ '<|im_start|>' + m.role + '\n' }}", "", 1)
    .replace("{% generation %}{{", "{% generation %}{{ '<|im_start|>assistant\n' +")
    .replace("{% else %}{{", "{% else %}{{ '<|im_start|>' + m.role + '\n' +")
)
"""Marks that cover the header."""

ALL = {
    "chatml": CHATML,
    "think": THINK,
    "trim": TRIM,
    "next": NEXT,
    "default_system": DEFAULT_SYSTEM,
    "opened_think": OPENED_THINK,
    "last_question": LAST_QUESTION,
    "xml_calls": XML_CALLS,
    "parts": PARTS,
    "channels": CHANNELS,
    "end_last": END_LAST,
    "built_in_system": BUILT_IN_SYSTEM,
    "literal": LITERAL,
    "marked": MARKED,
}
