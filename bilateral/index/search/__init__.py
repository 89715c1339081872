"""The tables behind searches: the words in registration files, each agent's current file, and claimed payments."""
