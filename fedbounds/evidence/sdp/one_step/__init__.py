"""Claims about one step of one round, decided over the whole class."""
