"""The gated delta rule and its convolution as one operator each, for models with gated DeltaNet layers.

`install.use_delta_rule_operator` puts them into a model, `check` proves them; `operators` says what they take and keep.
"""
