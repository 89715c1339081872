"""Read blocks and logs of a chain from its endpoints, checked."""
