"""What the clients do, without knowing how requests are sent: generators that yield steps and are sent the answers."""
