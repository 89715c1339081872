"""The tables behind searches: words of registration files, the current file of each agent, claimed payments."""
