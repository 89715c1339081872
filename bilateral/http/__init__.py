"""What every HTTP client of the package has in common: deadlines, and the waits that servers ask for."""
