"""A node of Solana with the registry of SATI, in this process."""
