"""Feedback and ratings, with their summaries and the responses to them."""
