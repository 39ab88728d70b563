"""Claims on small instances in fractions."""
