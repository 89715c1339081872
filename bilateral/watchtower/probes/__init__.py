"""Probes: one request or a few that tell whether an endpoint speaks its protocol. None acts or pays."""
