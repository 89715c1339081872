"""The client's operations: generators that yield steps and receive their results. They do no input or output."""
