"""Private proofs of buyers' tiers with Semaphore v4: member groups, proofs and their verification.

A proof hides which member is acting, but nothing else. docs/private-tiers.md begins with a list of what is not hidden.
"""
