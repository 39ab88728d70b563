"""What a search for counterexamples looks at: families of instances, their runs in bulk, margins, and shrinking.

Everything but shrinking is floating point: nothing found here counts until it is confirmed exactly or in balls.
"""
