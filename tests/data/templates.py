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

ALL = {
    "chatml": CHATML,
    "think": THINK,
    "trim": TRIM,
    "next": NEXT,
    "default_system": DEFAULT_SYSTEM,
    "opened_think": OPENED_THINK,
    "last_question": LAST_QUESTION,
}
