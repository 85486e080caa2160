"""Which kernel attention runs in on a GPU, and documents of a pack kept apart without a mask.

`install.use_attention_kernels` puts it into a model, after proof; `operator` is attention over documents one after
another, `by_document` the same in torch, `interface` what the library's models call.
"""
