"""The methods of `Client`, by area. `make async-client` derives those of `AsyncClient` from them."""
