"""Two-sided trust for AI agents."""
