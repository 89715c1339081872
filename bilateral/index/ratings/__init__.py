"""Feedback and ratings, their summaries and answers."""
