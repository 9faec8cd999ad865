// SPDX-License-Identifier: GPL-2.0-only
/* Memory classes, and VID_HEAP_CONTROL and RM_ALLOC_MEMORY, the older ways to allocate them. */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "books.h"
#include "escape.h"
#include "memory.h"
#include "object.h"

#define NVOS32_FREE_FLAGS_MEMORY_HANDLE_PROVIDED	1
#define NVOS32_ALLOC_FLAGS_USE_BEGIN_END		0x00020000
#define NVOS32_ATTR_PAGE_SIZE(attr)			(((attr) >> 23) & 3)
#define NVOS32_ATTR_PAGE_SIZE_DEFAULT			0
#define NVOS32_ATTR_PAGE_SIZE_4KB			1
#define NVOS32_ATTR_PAGE_SIZE_HUGE			3

/* nvos.h, NVOS02_FLAGS */
#define NVOS02_LOCATION(flags)				(((flags) >> 8) & 15)
#define NVOS02_LOCATION_PCI				0
#define NVOS02_ALLOC_NONE(flags)			((((flags) >> 16) & 3) == 1)
#define NVOS02_DEVICE_READ_ONLY(flags)			((flags) & BIT(22))
#define NVOS02_MAPPING(flags)				((flags) >> 30)
#define NVOS02_MAPPING_NO_MAP				1

/*
 * Sizes grow to whole GPU pages: 4 KiB for small or so attributed memory, 64 KiB big pages, 2 MiB
 * huge pages (535 mem_mgr.c, memmgrDeterminePageSize).
 */
static u32 nvsim_round_size(u64 *size, u32 attr)
{
	u64 page = *size < SZ_64K ? SZ_4K : SZ_64K;
	u64 rounded;

	if (NVOS32_ATTR_PAGE_SIZE(attr) == NVOS32_ATTR_PAGE_SIZE_4KB)
		page = SZ_4K;
	else if (NVOS32_ATTR_PAGE_SIZE(attr) == NVOS32_ATTR_PAGE_SIZE_HUGE)
		page = SZ_2M;
	else if (NVOS32_ATTR_PAGE_SIZE(attr) != NVOS32_ATTR_PAGE_SIZE_DEFAULT)
		page = SZ_64K;
	if (!*size)
		return NV_ERR_INVALID_ARGUMENT;
	if (check_add_overflow(*size, page - 1, &rounded))
		return NV_ERR_NO_MEMORY;
	*size = rounded & ~(page - 1);
	return NV_OK;
}

static u32 nvsim_memory_alloc(struct nvsim_alloc *a, enum nvsim_where where)
{
	struct nv_memory_allocation_params *p = a->params;
	struct nvsim_object *obj = a->obj;
	u64 size = p->size;
	u32 status;

	if (p->flags & NVOS32_ALLOC_FLAGS_VIRTUAL)
		return NV_ERR_INVALID_ARGUMENT;
	status = nvsim_round_size(&size, p->attr);
	if (status != NV_OK)
		return status;
	/* RM takes system memory at once, so it cannot give more than there is. */
	if (where == NVSIM_MEM_SYSTEM && size >> PAGE_SHIFT > totalram_pages())
		return NV_ERR_NO_MEMORY;
	status = nvsim_mem_create(obj->client, obj->gpu, where, obj->class, size, &obj->mem);
	if (status != NV_OK)
		return status;
	obj->mem->attr = p->attr;
	obj->mem->attr2 = p->attr2;
	p->size = size;
	p->offset = 0;
	p->limit = size - 1;
	return NV_OK;
}

u32 nvsim_vidmem_alloc(struct nvsim_alloc *a)
{
	struct nv_memory_allocation_params *p = a->params;

	/* 535 video_mem.c: this class is video memory and nothing else. */
	if (NVOS32_ATTR_LOCATION(p->attr) != NVOS32_ATTR_LOCATION_VIDMEM)
		return NV_ERR_INVALID_ARGUMENT;
	return nvsim_memory_alloc(a, NVSIM_MEM_DEVICE);
}

u32 nvsim_sysmem_alloc(struct nvsim_alloc *a)
{
	struct nv_memory_allocation_params *p = a->params;

	/* 535 system_mem.c, as above. */
	if (NVOS32_ATTR_LOCATION(p->attr) == NVOS32_ATTR_LOCATION_VIDMEM)
		return NV_ERR_INVALID_ARGUMENT;
	return nvsim_memory_alloc(a, NVSIM_MEM_SYSTEM);
}

/*
 * 535 rmapi_deprecated_vidheapctrl.c: the request becomes an RM_ALLOC of the class that flags and
 * location ask for.
 */
static u32 nvsim_heap_alloc(struct nvsim_file *file, struct nvos32 *p)
{
	struct nvos32_alloc_size *d = &p->data.alloc;
	struct nv_memory_allocation_params params = {
		.owner = d->owner,
		.type = d->type,
		.flags = d->flags,
		.width = d->width,
		.height = d->height,
		.attr = d->attr,
		.attr2 = d->attr2,
		.format = d->format,
		.comprCovg = d->comprCovg,
		.zcullCovg = d->zcullCovg,
		.size = d->size,
		.alignment = d->alignment,
		.offset = d->offset,
		.limit = d->limit,
		.address = d->address,
		.ctagOffset = d->ctagOffset,
		.hVASpace = p->hVASpace,
	};
	struct nvsim_new new = {
		.client = p->hRoot,
		.parent = p->hObjectParent,
		.params = &params,
	};
	u32 status;

	if (d->flags & NVOS32_ALLOC_FLAGS_USE_BEGIN_END) {
		params.rangeLo = d->rangeBegin;
		params.rangeHi = d->rangeEnd;
	}
	if (d->flags & NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED)
		new.handle = d->hMemory;
	if (d->flags & NVOS32_ALLOC_FLAGS_VIRTUAL)
		new.class = NV50_MEMORY_VIRTUAL;
	else if (NVOS32_ATTR_LOCATION(d->attr) == NVOS32_ATTR_LOCATION_VIDMEM)
		new.class = NV01_MEMORY_LOCAL_USER;
	else
		new.class = NV01_MEMORY_SYSTEM;

	p->total = 0;
	p->free = 0;
	d->partitionStride = 256;
	status = nvsim_rm_alloc(file, &new);
	if (status != NV_OK)
		return status;
	d->hMemory = new.handle;
	d->attr = params.attr;
	d->attr2 = params.attr2;
	d->size = params.size;
	d->offset = params.offset;
	d->limit = params.limit;
	return NV_OK;
}

static u32 nvsim_heap_info(struct nvsim_file *file, struct nvos32 *p)
{
	struct nvsim_client *client;
	struct nvsim_object *device;
	struct nvsim_gpu *gpu = NULL;
	u64 heap;

	mutex_lock(&nvsim_rm_lock);
	client = nvsim_client_of(file, p->hRoot);
	device = client ? nvsim_object_find(client, p->hObjectParent) : NULL;
	if (device)
		gpu = device->gpu;
	mutex_unlock(&nvsim_rm_lock);
	if (!client)
		return NV_ERR_INVALID_CLIENT;
	if (!gpu)
		return NV_ERR_INVALID_OBJECT_PARENT;

	heap = gpu->vram - gpu->reserve;
	p->total = heap;
	p->free = heap - nvsim_books_used(gpu);
	p->data.info.base = 0;
	p->data.info.size = p->free;
	p->data.info.offset = heap - p->free;
	return NV_OK;
}

int nvsim_esc_vid_heap(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos32 *p = arg;

	switch (p->function) {
	case NVOS32_FUNCTION_ALLOC_SIZE:
		p->status = nvsim_heap_alloc(file, p);
		break;
	case NVOS32_FUNCTION_FREE:
		if (p->data.free_mem.flags & NVOS32_FREE_FLAGS_MEMORY_HANDLE_PROVIDED)
			p->status = nvsim_rm_free(file, p->hRoot, p->data.free_mem.hMemory);
		else
			p->status = NV_ERR_INVALID_ARGUMENT;
		break;
	case NVOS32_FUNCTION_INFO:
		p->status = nvsim_heap_info(file, p);
		break;
	default:
		p->status = NV_ERR_NOT_SUPPORTED;
		break;
	}
	return 0;
}

static u32 nvsim_alloc_os_descriptor(struct nvsim_file *file, struct nvos02_with_fd *p)
{
	struct nvsim_client *client;
	struct nvsim_mem *mem;
	u64 size;
	u32 status;

	/* 535 escape.c, RmAllocOsDescriptor. */
	if (NVOS02_LOCATION(p->flags) != NVOS02_LOCATION_PCI ||
	    NVOS02_MAPPING(p->flags) != NVOS02_MAPPING_NO_MAP)
		return NV_ERR_INVALID_FLAGS;
	if (!PAGE_ALIGNED(p->pMemory))
		return NV_ERR_NOT_SUPPORTED;
	if (check_add_overflow(p->limit, (u64)1, &size) || size > U64_MAX - PAGE_SIZE)
		return NV_ERR_INVALID_LIMIT;
	size = PAGE_ALIGN(size);

	status = nvsim_mem_pin(p->pMemory, size, !NVOS02_DEVICE_READ_ONLY(p->flags), &mem);
	if (status != NV_OK)
		return status;
	mutex_lock(&nvsim_rm_lock);
	client = nvsim_client_of(file, p->hRoot);
	status = client ? nvsim_object_from_mem(client, p->hObjectParent, &p->hObjectNew,
						p->hClass, mem) : NV_ERR_INVALID_CLIENT;
	mutex_unlock(&nvsim_rm_lock);
	nvsim_mem_put(mem);
	return status;
}

static int nvsim_alloc_system(struct nvsim_file *file, struct nvos02_with_fd *p)
{
	struct nv_memory_allocation_params params = {
		.attr = NVOS32_ATTR_LOCATION_PCI << 25,
	};
	struct nvsim_new new = {
		.client = p->hRoot,
		.parent = p->hObjectParent,
		.handle = p->hObjectNew,
		.class = NV01_MEMORY_SYSTEM,
		.params = &params,
	};

	if (check_add_overflow(p->limit, (u64)1, &params.size)) {
		p->status = NV_ERR_INVALID_LIMIT;
		return 0;
	}
	p->status = nvsim_rm_alloc(file, &new);
	if (p->status != NV_OK)
		return 0;
	p->hObjectNew = new.handle;
	p->limit = params.limit;
	/* 535 escape.c: memory that is to be mapped at once gets its mmap context here. */
	if (!NVOS02_ALLOC_NONE(p->flags) && NVOS02_MAPPING(p->flags) != NVOS02_MAPPING_NO_MAP &&
	    nvsim_rm_map(file, p->hRoot, p->hObjectParent, p->hObjectNew, 0, params.size, 0,
			 p->fd) != NV_OK)
		return -EINVAL;
	return 0;
}

int nvsim_esc_alloc_memory(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos02_with_fd *p = arg;

	switch (p->hClass) {
	case NV01_MEMORY_SYSTEM_OS_DESCRIPTOR:
		p->status = nvsim_alloc_os_descriptor(file, p);
		return 0;
	case NV01_MEMORY_SYSTEM:
		return nvsim_alloc_system(file, p);
	default:
		p->status = NV_ERR_INVALID_CLASS;
		return 0;
	}
}
