"""The update rules that `train.optimizer` names, each on float32 slices of a tensor."""
