"""Which packages are installed; everything else about them stands in pyproject.toml.

The folder derivations/ of the repository is installed as ``fedbounds_derivations``, in a wheel and in an editable
installation alike: ``derivations`` alone would be too general a name beside other people's packages.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["fedbounds*"]), "fedbounds_derivations"],
    package_dir={"fedbounds_derivations": "derivations"},
)
