"""Pages of the explorer."""
