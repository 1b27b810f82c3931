"""Builds the wheel; scripts/wheel puts the library into the package and sets IOKL_VERSION."""

import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class Binary(Distribution):
    """A package for one platform, though it has no extension module."""

    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    """A wheel for any Python 3: the library does not depend on it."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(
    name="iokl",
    version=os.environ.get("IOKL_VERSION", "0").replace("-dev", ".dev0"),
    description="Input/output kernel learning: input kernels, output kernel and function together, with a certificate",
    license="BSD-3-Clause",
    packages=["iokl"],
    package_data={"iokl": ["py.typed", "libiokl.so", "libiokl.dylib", "iokl.dll"]},
    python_requires=">=3.9",
    install_requires=["numpy"],
    extras_require={"sklearn": ["scikit-learn"]},
    cmdclass={"bdist_wheel": Wheel},
    distclass=Binary,
)
