// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mappings into processes. RM_MAP_MEMORY leaves a context in an open file, one for its life; mmap()
 * of that file at offset 0 then maps what the context says. Flags of the mappings and errors are
 * those of 535.288.01 nv-mmap.c: device memory and registers are VM_PFNMAP of the file's own
 * address space, system memory is pages.
 *
 * A context is set once and read without a lock by those who have the file open, as the VMAs do.
 * It keeps the memory's pages, so that memory which is freed while mapped goes with the file.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "doorbell.h"

/* nvos.h: NVOS33_FLAGS_ACCESS */
#define NVOS33_ACCESS(flags)		((flags) & 3)
#define NVOS33_ACCESS_READ_ONLY		1

struct nvsim_mmap_context {
	struct nvsim_mem *mem;			/* NULL for a doorbell; kept */
	struct nvsim_doorbell *doorbell;	/* NULL for memory */
	u64 offset;				/* in mem */
	u64 length;
	bool read_only;
	atomic_t mappings;
};

static void nvsim_context_free(struct nvsim_mmap_context *ctx)
{
	WARN_ON(atomic_read(&ctx->mappings));
	if (ctx->doorbell)
		nvsim_doorbell_destroy(ctx->doorbell);
	if (ctx->mem)
		nvsim_mem_unkeep(ctx->mem);
	kfree(ctx);
}

/* Device memory is mapped through its GPU's node, system memory through nvidiactl. */
static bool nvsim_context_fits(struct nvsim_object *memory, struct nvsim_file *target)
{
	if (memory->class == TURING_USERMODE_A)
		return target->gpu == memory->gpu;
	if (!memory->mem)
		return false;
	switch (memory->mem->where) {
	case NVSIM_MEM_DEVICE:
		return target->gpu == memory->mem->gpu;
	case NVSIM_MEM_SYSTEM:
		return !target->gpu;
	default:
		return false;
	}
}

u32 nvsim_map_memory(struct nvsim_file *caller, struct nvsim_object *memory,
		     struct nvsim_file *target, u64 offset, u64 length, u32 flags)
{
	u64 size = memory->mem ? memory->mem->size : NVSIM_USERMODE_SIZE;
	struct nvsim_mmap_context *ctx;
	bool taken;

	if (!nvsim_context_fits(memory, target))
		return NV_ERR_INVALID_ARGUMENT;
	if (!length || offset > size || length > size - offset)
		return NV_ERR_INVALID_LIMIT;
	if (READ_ONCE(target->mmap_context))
		return NV_ERR_STATE_IN_USE;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return NV_ERR_NO_MEMORY;
	ctx->offset = ALIGN_DOWN(offset, PAGE_SIZE);
	ctx->length = PAGE_ALIGN(offset + length) - ctx->offset;
	ctx->read_only = NVOS33_ACCESS(flags) == NVOS33_ACCESS_READ_ONLY;
	if (memory->mem) {
		nvsim_mem_keep(memory->mem);
		ctx->mem = memory->mem;
	} else {
		ctx->doorbell = nvsim_doorbell_create(memory->gpu->engine, memory->client->handle,
						      &target->mapping);
		if (!ctx->doorbell) {
			kfree(ctx);
			return NV_ERR_NO_MEMORY;
		}
	}

	spin_lock(&target->mmap_lock);
	taken = target->mmap_context;
	if (!taken) {
		/* Pairs with nvsim_mmap(): who finds the context finds what is in it. */
		smp_store_release(&target->mmap_context, ctx);
	}
	spin_unlock(&target->mmap_lock);
	if (taken) {
		nvsim_context_free(ctx);
		return NV_ERR_STATE_IN_USE;
	}
	return NV_OK;
}

/* The context stays with its file: 535 forgets one only when the file is closed. */
u32 nvsim_unmap_memory(struct nvsim_file *caller, struct nvsim_object *memory, u64 address)
{
	return memory->mem || memory->class == TURING_USERMODE_A ? NV_OK : NV_ERR_INVALID_OBJECT;
}

static struct nvsim_mmap_context *nvsim_vma_context(struct vm_area_struct *vma)
{
	return nvsim_file(vma->vm_file)->mmap_context;
}

static void nvsim_vma_open(struct vm_area_struct *vma)
{
	atomic_inc(&nvsim_vma_context(vma)->mappings);
}

static void nvsim_vma_close(struct vm_area_struct *vma)
{
	atomic_dec(&nvsim_vma_context(vma)->mappings);
}

static struct page *nvsim_context_page(struct nvsim_mmap_context *ctx, pgoff_t pgoff)
{
	if (pgoff >= ctx->length >> PAGE_SHIFT)
		return NULL;
	return nvsim_mem_page(ctx->mem, (ctx->offset >> PAGE_SHIFT) + pgoff, true);
}

static vm_fault_t nvsim_vma_fault(struct vm_fault *vmf)
{
	struct nvsim_mmap_context *ctx = nvsim_vma_context(vmf->vma);
	struct page *page;

	if (ctx->doorbell)
		return nvsim_doorbell_fault(ctx->doorbell, vmf);

	page = nvsim_context_page(ctx, vmf->pgoff);
	if (!page)
		return vmf->pgoff < ctx->length >> PAGE_SHIFT ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
	if (ctx->mem->where == NVSIM_MEM_DEVICE)
		return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(page));
	get_page(page);
	vmf->page = page;
	return 0;
}

/* What ptrace and /proc/PID/mem do. Registers are out of their reach: nvidia_vma_access. */
static int nvsim_vma_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len,
			    int write)
{
	struct nvsim_mmap_context *ctx = nvsim_vma_context(vma);
	unsigned int in_page = offset_in_page(addr);
	struct page *page;

	if (ctx->doorbell || len < 0)
		return -EINVAL;
	page = nvsim_context_page(ctx, ((addr - vma->vm_start) >> PAGE_SHIFT) + vma->vm_pgoff);
	if (!page)
		return -EINVAL;
	len = min_t(unsigned int, len, PAGE_SIZE - in_page);
	if (write)
		memcpy_to_page(page, in_page, buf, len);
	else
		memcpy_from_page(buf, page, in_page, len);
	return len;
}

static const struct vm_operations_struct nvsim_vm_ops = {
	.open	= nvsim_vma_open,
	.close	= nvsim_vma_close,
	.fault	= nvsim_vma_fault,
	.access	= nvsim_vma_access,
};

int nvsim_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct nvsim_file *nvf = nvsim_file(file);
	unsigned long size = vma->vm_end - vma->vm_start;
	struct nvsim_mmap_context *ctx;

	/* Pairs with nvsim_map_memory(). */
	ctx = smp_load_acquire(&nvf->mmap_context);
	if (!ctx || vma->vm_pgoff)
		return -EINVAL;
	/* Copies on write of raw page frames do not exist. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;

	if (nvf->gpu) {
		if (size != ctx->length)
			return -ENXIO;
		nvsim_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND);
	} else {
		if (size > ctx->length)
			return -ERANGE;
		nvsim_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	}
	if (ctx->read_only)
		nvsim_vm_flags_clear(vma, VM_WRITE | VM_MAYWRITE);

	vma->vm_ops = &nvsim_vm_ops;
	nvsim_vma_open(vma);
	return 0;
}

void nvsim_mmap_release(struct nvsim_file *nvf)
{
	if (nvf->mmap_context)
		nvsim_context_free(nvf->mmap_context);
	nvf->mmap_context = NULL;
}
