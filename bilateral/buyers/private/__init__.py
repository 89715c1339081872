"""Private proofs of buyers' tiers with Semaphore v4: member groups, proofs, and their verification.

A proof hides which member acts, and nothing else. docs/private-tiers.md starts by listing what is not hidden.
"""
