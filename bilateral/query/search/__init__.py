"""Search for agents and feedback: filters, gates, plans and their statements."""
