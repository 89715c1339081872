"""A complete market on one machine: chain, registries, token, facilitator, agents and service (`bilateral dev`)."""
