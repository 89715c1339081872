"""Proofs of paid answers: what is signed, and how it is verified."""
