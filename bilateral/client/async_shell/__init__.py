"""The methods of `AsyncClient`. All but `base` is derived from those of `Client` by `make async-client`."""
