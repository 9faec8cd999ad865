/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory classes and the escapes that make them. */
#ifndef NVSIM_MEMORY_H
#define NVSIM_MEMORY_H

#include "nvsim.h"

u32 nvsim_vidmem_alloc(struct nvsim_alloc *a);		/* NV01_MEMORY_LOCAL_USER */
u32 nvsim_sysmem_alloc(struct nvsim_alloc *a);		/* NV01_MEMORY_SYSTEM */

/* Pins a range of the caller's address space; no lock held. */
u32 nvsim_mem_pin(u64 address, u64 size, bool writable, struct nvsim_mem **mem);

#endif
