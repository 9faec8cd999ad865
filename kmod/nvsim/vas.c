// SPDX-License-Identifier: GPL-2.0-only
/* GPU virtual addresses: spaces, reservations, mappings. */
#include "nvsim.h"

u32 nvsim_vaspace_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_vaspace_free(struct nvsim_object *obj)
{
}

u32 nvsim_virtual_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_virtual_free(struct nvsim_object *obj)
{
}

u32 nvsim_reserve_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_reserve_free(struct nvsim_object *obj)
{
}

u32 nvsim_map_dma(struct nvsim_object *dma, struct nvsim_object *memory, u64 offset, u64 length,
		  u32 flags, u64 *dma_offset)
{
	return NV_ERR_NOT_SUPPORTED;
}

u32 nvsim_unmap_dma(struct nvsim_object *dma, struct nvsim_object *memory, u32 flags,
		    u64 dma_offset)
{
	return NV_ERR_NOT_SUPPORTED;
}

void nvsim_memory_freed(struct nvsim_object *memory)
{
}
