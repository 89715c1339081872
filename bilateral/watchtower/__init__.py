"""A watchtower, which probes the endpoints of agents without side effects or payments, and publishes measurements.

`run` needs no signing key. The results that other modules read are defined in `bilateral.index.measurements`.
"""
