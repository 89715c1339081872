"""Commands of `ape run`, and what they share (modules whose name begins with `_`)."""
