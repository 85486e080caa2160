"""Several runs held against each other: their curves over one axis, their values at one place, what differs in them."""
