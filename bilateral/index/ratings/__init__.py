"""Feedback and ratings, their summaries and responses."""
