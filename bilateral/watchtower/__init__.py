"""A watchtower: it probes the endpoints of agents without side effects or payments, and publishes measurements.

`run` needs no key. The results that others read are defined in `bilateral.index.measurements`.
"""
