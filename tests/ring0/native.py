# SPDX-License-Identifier: Apache-2.0
"""The C under test: vgpu._native, or the build of it that VGPU_NATIVE names.

Sanitized and deliberately broken builds are loaded that way, each in a process of its own.
"""

import importlib
import importlib.machinery
import importlib.util
import os
from types import ModuleType


def _load() -> ModuleType:
    path = os.environ.get("VGPU_NATIVE")
    if not path:
        return importlib.import_module("vgpu._native")
    loader = importlib.machinery.ExtensionFileLoader("_native", path)
    spec = importlib.util.spec_from_loader("_native", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


_native = _load()
ffi = _native.ffi
lib = _native.lib

KINDS = lib.VGPU_CHARGE_KINDS
BUFFERS = lib.VGPU_CHARGE_BUFFERS
CONTEXTS = lib.VGPU_CHARGE_CONTEXTS
MANAGED = lib.VGPU_CHARGE_MANAGED
NO_SLICE = lib.VGPU_NO_SLICE
EVER = 2**64 - 1
