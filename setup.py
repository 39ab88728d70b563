"""Which packages are installed; everything else about them stands in pyproject.toml, and the data in MANIFEST.in.

The folder derivations/ of the repository is installed as ``fedbounds_derivations``, in a wheel and in an editable
installation alike: ``derivations`` alone would be too general a name beside other people's packages.
"""

from setuptools import find_namespace_packages, find_packages, setup

FOLDER, OWN = "derivations", "fedbounds_derivations"

setup(
    packages=[
        *find_packages(include=["fedbounds", "fedbounds.*"]),
        OWN,
        *(f"{OWN}.{data}" for data in find_namespace_packages(FOLDER)),
    ],
    package_dir={OWN: FOLDER},
)
