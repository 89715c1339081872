"""Made-up chains, events and agents that tests, benchmarks and the demo share. Each seed gives the same ones."""
