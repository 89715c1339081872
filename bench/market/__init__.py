"""A market in which buyers follow one system's answers, and attackers search for acts that pay against this system."""
