# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands for GNU Radio where only the package cudaphy is: gnuradio.cudaphy is that package.

All else of GNU Radio is absent: a test that calls any of it is skipped."""

import importlib
import importlib.abc
import importlib.machinery
import pkgutil
import sys
import types
import unittest

import cudaphy
from cudaphy.block_names import BLOCK_NAMES


class _AbsentType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return absent

    def __call__(cls, *args, **kwargs):
        raise unittest.SkipTest("needs GNU Radio")


class absent(metaclass=_AbsentType):
    """Any class, function or constant of GNU Radio."""

    __module__ = "gnuradio.cudaphy.blocks"


class _AbsentModule(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return absent


class _AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("gnuradio."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _AbsentModule(spec.name)

    def exec_module(self, module):
        pass


for _each in pkgutil.walk_packages(cudaphy.__path__, "cudaphy."):
    sys.modules[f"gnuradio.{_each.name}"] = importlib.import_module(_each.name)
sys.modules["gnuradio.cudaphy"] = cudaphy
sys.meta_path.append(_AbsentModules())
importlib.import_module(absent.__module__)
for _name in BLOCK_NAMES:
    setattr(cudaphy, _name, absent)
