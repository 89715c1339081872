"""Deterministic, resumable deployment: parameters and builds make a plan, the plan is executed, records remain."""
