"""Actions of website visitors: the service prepares what a visitor's wallet signs, and never sees the wallet's keys."""
