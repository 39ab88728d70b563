"""How small a mistake in a claim the checker notices: every mutant of every claim in every regime."""
