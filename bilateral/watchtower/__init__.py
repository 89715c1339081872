"""A watchtower: it probes the endpoints of agents without acting or paying, and publishes what it measured.

`run` needs no key. The results that others read stand in `bilateral.index.measurements`.
"""
