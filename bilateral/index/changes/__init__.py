"""The feed of changes, and its webhooks."""
