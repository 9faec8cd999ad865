/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * All that kmod/core and kmod/abi need from their host: fixed-width types, bool, size_t, offsetof,
 * errno numbers, memcpy, memmove and memset. The same sources are compiled into the module and
 * into Python. They take no lock, read no clock, allocate and print nothing: the caller holds the
 * lock that guards what it passes, and owns its memory.
 */
#ifndef VGPU_PORT_H
#define VGPU_PORT_H

#ifdef __KERNEL__

#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#endif

#endif /* VGPU_PORT_H */
