"""Agent profiles: everything that the index stores about an agent."""
