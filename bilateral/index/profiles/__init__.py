"""An agent with everything that the index stores about it."""
