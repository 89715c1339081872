"""Suspicion of accounts, and scores of subjects computed without false opinions."""
