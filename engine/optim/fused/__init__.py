"""Lion as one Triton kernel a tensor. Nothing here imports Triton before a kernel is needed."""
