"""Private proofs of buyers' tiers with Semaphore v4: groups of members, proofs, and their verification.

A proof hides which member of a group created it, but nothing else. docs/private-tiers.md begins with a list of what is
not hidden.
"""
