"""Read and check the blocks and logs of a chain from its endpoints."""
