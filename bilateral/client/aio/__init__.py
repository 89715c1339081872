"""The methods of `AsyncClient`, by area: the source, from which `make sync-client` generates `Client`."""
