"""Families of instances that a search for counterexamples tries, one a file with its variants.

A family turns points of the unit cube into instances. It is a `fedbounds.referee.search.family.InstanceFamily` called
``FAMILY``, or one of a tuple of that name where variants share their code, in a module here, or in one that another
distribution registers as an entry point of this package's name.
"""
