"""What is said: symbols, claims, assumptions, readings and verdicts."""
