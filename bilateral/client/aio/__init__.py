"""The methods of `AsyncClient`, by area. `make sync-client` generates `Client` from this source."""
