"""The client's operations: generators that yield steps and receive their results. They perform no I/O themselves."""
