"""The methods of `AsyncClient`, grouped by area. `make sync-client` generates `Client` from these modules."""
