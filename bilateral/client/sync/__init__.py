"""The methods of `Client`, by area. `make sync-client` generates them from those of `AsyncClient`."""
