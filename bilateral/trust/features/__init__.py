"""What is measured of accounts and opinions, and the weak signs that it makes."""
