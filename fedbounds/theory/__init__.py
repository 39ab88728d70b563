"""What is said: symbols, assumptions, claims as terms, readings, verdicts and what they cover.

>>> from fedbounds.theory import Claim, assumptions as a, symbols as s
>>> Claim("mine", "", "", "step", s.Delta_next, {"start": s.Delta}, assumptions=(a.smooth,)).scope
'step'
"""

from fedbounds.theory.claim import Claim as Claim
