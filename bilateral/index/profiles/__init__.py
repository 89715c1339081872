"""One agent with everything that the index has of it."""
