"""Standings of agents, with the evidence behind them."""
