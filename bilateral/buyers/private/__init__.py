"""Private proofs of buyers' tiers, by Semaphore v4: groups of members, proofs, and their verification.

A proof hides which member acts, and nothing else. docs/private-tiers.md says first what is not hidden.
"""
