"""Read a chain's blocks and logs from its endpoints, and check them."""
