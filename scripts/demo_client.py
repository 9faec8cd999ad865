#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What any CUDA program does, in small: takes GPU memory through the driver API until it is
refused, gives some back, goes on. Knows nothing of vgpu; needs libcuda.so.1 and nothing else."""

import ctypes
import json
import os
import subprocess
import sys

MIB = 1 << 20
LARGEST, SMALLEST = 256 * MIB, 2 * MIB

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuMemFree_v2.argtypes = [ctypes.c_uint64]


class CudaError(Exception):
    def __init__(self, code: int) -> None:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(name))
        super().__init__((name.value or b"unknown").decode())


def call(function: str, *arguments: object) -> None:
    code = getattr(cuda, function)(*arguments)
    if code:
        raise CudaError(code)


def start() -> int:
    """A context on the first GPU; returns the bytes that it says to have in all."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return total.value


def allocate(size: int) -> int:
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address.value


def fill() -> tuple[list[int], int, str]:
    """Every buffer that could be had, their bytes, and how the last one was refused."""
    buffers, total, size, refusal = [], 0, LARGEST, ""
    while size >= SMALLEST:
        try:
            buffers.append(allocate(size))
            total += size
        except CudaError as error:
            refusal = str(error)
            size //= 2
    return buffers, total, refusal


def copies_come_back() -> bool:
    """Data through the GPU and back: the program is as well as before the refusal."""
    data = os.urandom(MIB)
    back = ctypes.create_string_buffer(MIB)
    buffer = ctypes.c_uint64(allocate(SMALLEST))
    call("cuMemcpyHtoD_v2", buffer, data, ctypes.c_size_t(MIB))
    call("cuMemcpyDtoH_v2", back, buffer, ctypes.c_size_t(MIB))
    call("cuMemFree_v2", buffer)
    return back.raw == data


def main() -> None:
    smi = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    seen = int(subprocess.run(smi, check=True, capture_output=True, text=True).stdout) * MIB
    total = start()
    buffers, allocated, refusal = fill()
    print(f"{len(buffers)} buffers, {allocated // MIB} MiB; the next one: {refusal}", flush=True)
    call("cuMemFree_v2", ctypes.c_uint64(buffers.pop()))
    went_on = copies_come_back()
    print(f"one freed, a copy through the GPU {'is right' if went_on else 'is WRONG'}", flush=True)
    result = {
        "nvidia_smi": seen,
        "total": total,
        "allocated": allocated,
        "refusal": refusal,
        "went_on": went_on,
    }
    print(f"RESULT {json.dumps(result)}", flush=True)


def forever() -> None:
    """Allocates and frees until it is killed."""
    start()
    while True:
        buffers, _, _ = fill()
        for buffer in buffers:
            call("cuMemFree_v2", ctypes.c_uint64(buffer))


if __name__ == "__main__":
    forever() if sys.argv[1:] == ["--forever"] else main()
