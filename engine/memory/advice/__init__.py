"""What an estimate means on a GPU, and what to do about it.

`gpus` is the table of GPUs, `room` what is free on one, `verdict` whether a run fits there; `throughput` and `work` are
how long it takes. `changes` are what would make it fit, or use the room: `change_search` moves the `levers` there are,
`effects` is what that does to the result, and `change_words` tells it.
"""
