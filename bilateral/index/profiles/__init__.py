"""One agent with everything that the index has about it."""
