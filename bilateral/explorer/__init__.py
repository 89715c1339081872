"""The web pages over the index: both sides of every agent, and the ratings behind each figure."""
