# SPDX-License-Identifier: Apache-2.0
"""Only what pyproject.toml cannot say: which C is compiled into vgpu._native."""

from setuptools import setup

setup(cffi_modules=["vgpu/_build.py:ffibuilder"])
