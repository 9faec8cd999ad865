// SPDX-License-Identifier: GPL-2.0-only
/*
 * What handles say about GPU addresses: VA spaces, ranges to map into, reservations, and
 * RM_MAP_MEMORY_DMA. Everything here runs under nvsim_rm_lock.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "dma.h"

/* nvos.h: NVOS46_FLAGS_DMA_OFFSET_FIXED */
#define NVOS46_DMA_OFFSET_FIXED		BIT(15)

/* Big pages, and small allocations begin at one: what 535 does without NVOS32_ATTR_PAGE_SIZE. */
#define NVSIM_VA_ALIGN_SMALL		SZ_64K
#define NVSIM_VA_ALIGN_HUGE		SZ_2M

/* data of NV01_MEMORY_VIRTUAL and NV50_MEMORY_VIRTUAL: where their addresses may lie. */
struct nvsim_window {
	struct nvsim_vas *vas;			/* one reference */
	u64 start;
	u64 last;
	struct nvsim_reservation *reservation;	/* NULL for NV01_MEMORY_VIRTUAL */
};

/* One RM_MAP_MEMORY_DMA, in the list of its memory object and gone with it. */
struct nvsim_dma_map {
	struct hlist_node in_memory;
	struct nvsim_vas *vas;			/* one reference */
	struct nvsim_object *window;		/* only compared */
	u64 va;
	u64 length;
};

struct nvsim_vas *nvsim_vas_of_handle(struct nvsim_object *below, u32 handle, u32 *status)
{
	struct nvsim_object *device, *space;

	if (handle) {
		space = nvsim_object_find(below->client, handle);
		if (!space || space->class != FERMI_VASPACE_A) {
			*status = NV_ERR_INVALID_OBJECT_HANDLE;
			return NULL;
		}
		nvsim_vas_get(space->data);
		return space->data;
	}

	device = nvsim_object_above(below, NV01_DEVICE_0);
	if (!device) {
		*status = NV_ERR_INVALID_OBJECT_PARENT;
		return NULL;
	}
	if (!device->data)
		device->data = nvsim_vas_create();
	if (!device->data) {
		*status = NV_ERR_NO_MEMORY;
		return NULL;
	}
	nvsim_vas_get(device->data);
	return device->data;
}

void nvsim_device_free(struct nvsim_object *device)
{
	if (device->data)
		nvsim_vas_put(device->data);
}

u32 nvsim_vaspace_alloc(struct nvsim_alloc *a)
{
	a->obj->data = nvsim_vas_create();
	return a->obj->data ? NV_OK : NV_ERR_NO_MEMORY;
}

void nvsim_vaspace_free(struct nvsim_object *obj)
{
	nvsim_vas_put(obj->data);
}

static u32 nvsim_window_new(struct nvsim_alloc *a, u32 space, struct nvsim_window **result)
{
	struct nvsim_window *w;
	u32 status;

	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return NV_ERR_NO_MEMORY;
	w->vas = nvsim_vas_of_handle(a->obj, space, &status);
	if (!w->vas) {
		kfree(w);
		return status;
	}
	*result = w;
	return NV_OK;
}

static void nvsim_window_free(struct nvsim_window *w)
{
	if (w->reservation)
		nvsim_vas_unreserve(w->reservation);
	nvsim_vas_put(w->vas);
	kfree(w);
}

u32 nvsim_virtual_alloc(struct nvsim_alloc *a)
{
	struct nv_memory_virtual_allocation_params *p = a->params;
	struct nvsim_window *w;
	u32 status;

	status = nvsim_window_new(a, p->hVASpace, &w);
	if (status != NV_OK)
		return status;
	w->start = p->offset;
	w->last = p->limit ?: U64_MAX;
	if (w->last < w->start) {
		nvsim_window_free(w);
		return NV_ERR_INVALID_LIMIT;
	}
	a->obj->data = w;
	return NV_OK;
}

void nvsim_virtual_free(struct nvsim_object *obj)
{
	nvsim_window_free(obj->data);
}

u32 nvsim_reserve_alloc(struct nvsim_alloc *a)
{
	struct nv_memory_allocation_params *p = a->params;
	bool fixed = p->flags & NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE;
	u64 length = PAGE_ALIGN(p->size);
	u64 align = length < NVSIM_VA_ALIGN_HUGE ? NVSIM_VA_ALIGN_SMALL : NVSIM_VA_ALIGN_HUGE;
	struct nvsim_window *w;
	u32 status;

	if (!length || (fixed && !PAGE_ALIGNED(p->offset)))
		return NV_ERR_INVALID_ARGUMENT;
	if (is_power_of_2(p->alignment) && p->alignment > align)
		align = p->alignment;

	status = nvsim_window_new(a, p->hVASpace, &w);
	if (status != NV_OK)
		return status;
	w->reservation = nvsim_vas_reserve(w->vas, p->offset, length, align, fixed);
	if (!w->reservation) {
		nvsim_window_free(w);
		return NV_ERR_NO_MEMORY;
	}
	w->start = w->reservation->range.start;
	w->last = w->reservation->range.last;
	a->obj->data = w;
	p->size = length;
	p->offset = w->start;
	p->limit = w->last;
	return NV_OK;
}

void nvsim_reserve_free(struct nvsim_object *obj)
{
	struct nvsim_window *w = obj->data;

	nvsim_vas_unmap(w->vas, w->start, w->last - w->start + 1);
	nvsim_window_free(w);
}

static struct nvsim_window *nvsim_window_of(struct nvsim_object *dma)
{
	if (dma->class == NV01_MEMORY_VIRTUAL || dma->class == NV50_MEMORY_VIRTUAL)
		return dma->data;
	return NULL;
}

u32 nvsim_map_dma(struct nvsim_object *dma, struct nvsim_object *memory, u64 offset, u64 length,
		  u32 flags, u64 *dma_offset)
{
	struct nvsim_window *w = nvsim_window_of(dma);
	struct nvsim_dma_map *map;
	u64 va = *dma_offset;
	u32 status;

	if (!w || !memory->mem)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!length || length > memory->mem->size)
		return NV_ERR_INVALID_ARGUMENT;
	length = PAGE_ALIGN(length);

	if (!(flags & NVOS46_DMA_OFFSET_FIXED)) {
		va = nvsim_vas_free_piece(w->vas, max_t(u64, w->start, NVSIM_VA_ALIGN_SMALL),
					  w->last, length, NVSIM_VA_ALIGN_SMALL);
		if (!va)
			return NV_ERR_NO_MEMORY;
	} else if (va < w->start || va > w->last || w->last - va < length - 1) {
		return NV_ERR_INVALID_OFFSET;
	} else if (!va || nvsim_vas_free_piece(w->vas, va, va + length - 1, length,
					       PAGE_SIZE) != va) {
		return NV_ERR_IN_USE;
	}

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NV_ERR_NO_MEMORY;
	status = nvsim_vas_map(w->vas, va, length, memory->mem, offset);
	if (status != NV_OK) {
		kfree(map);
		return status;
	}
	nvsim_vas_get(w->vas);
	map->vas = w->vas;
	map->window = dma;
	map->va = va;
	map->length = length;
	hlist_add_head(&map->in_memory, &memory->dma_maps);
	*dma_offset = va;
	return NV_OK;
}

static void nvsim_dma_map_free(struct nvsim_dma_map *map)
{
	nvsim_vas_unmap(map->vas, map->va, map->length);
	nvsim_vas_put(map->vas);
	hlist_del(&map->in_memory);
	kfree(map);
}

u32 nvsim_unmap_dma(struct nvsim_object *dma, struct nvsim_object *memory, u32 flags,
		    u64 dma_offset)
{
	struct nvsim_dma_map *map;

	hlist_for_each_entry(map, &memory->dma_maps, in_memory) {
		if (map->window == dma && map->va == dma_offset) {
			nvsim_dma_map_free(map);
			return NV_OK;
		}
	}
	return NV_ERR_OBJECT_NOT_FOUND;
}

void nvsim_memory_freed(struct nvsim_object *memory)
{
	struct nvsim_dma_map *map;
	struct hlist_node *next;

	hlist_for_each_entry_safe(map, next, &memory->dma_maps, in_memory)
		nvsim_dma_map_free(map);
}
