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

ALL = {
    "chatml": CHATML,
    "think": THINK,
    "trim": TRIM,
    "next": NEXT,
    "default_system": DEFAULT_SYSTEM,
    "opened_think": OPENED_THINK,
}
