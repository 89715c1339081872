"""The web pages for the index: both sides of every agent, and the ratings behind each figure."""
