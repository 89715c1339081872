"""Suspicion of accounts, and scores of subjects without false opinions."""
