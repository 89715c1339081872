"""Private proofs of buyers' tiers with Semaphore v4: groups of members, proofs, and their verification.

A proof hides which member acts, and nothing else. docs/private-tiers.md starts with what is not hidden.
"""
