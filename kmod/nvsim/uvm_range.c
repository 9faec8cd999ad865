// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranges of a UVM file, and its mappings. Managed memory lies in pages of the host that both CPU
 * and engine reach: it never migrates here, which no program can tell but by its speed.
 *
 * Rules of 535.288.01 uvm.c: offset equals address, shared and writable, one process's; a VMA that
 * fork or mremap made elsewhere is dead and a touch of it gives SIGBUS.
 */
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "compat.h"
#include "uvm.h"

struct nvsim_uvm_range {
	struct interval_tree_node range;
	enum nvsim_uvm_type type;
	struct nvsim_mem *mem;		/* of SEMAPHORES and MANAGED; one reference */
};

/* What VMAs cut out of one mmap() share. */
struct nvsim_uvm_area {
	refcount_t vmas;
	struct nvsim_uvm *uvm;
	struct nvsim_mem *mem;		/* one reference */
	struct mm_struct *mm;		/* only compared */
	pgoff_t first;			/* page of mem's first page */
	bool managed;
};

static struct nvsim_uvm_range *nvsim_uvm_find(struct nvsim_uvm *uvm, u64 start, u64 last)
{
	struct interval_tree_node *node = interval_tree_iter_first(&uvm->ranges, start, last);

	lockdep_assert_held(&uvm->lock);
	return node ? container_of(node, struct nvsim_uvm_range, range) : NULL;
}

static bool nvsim_uvm_valid(u64 base, u64 length)
{
	return length && PAGE_ALIGNED(base | length) && base + length - 1 > base;
}

static void nvsim_uvm_range_drop(struct nvsim_uvm *uvm, struct nvsim_uvm_range *r)
{
	interval_tree_remove(&r->range, &uvm->ranges);
	nvsim_vas_unmap(uvm->vas, r->range.start, r->range.last - r->range.start + 1);
	if (r->mem)
		nvsim_mem_put(r->mem);
	kfree(r);
}

/* Takes over mem if that is not NULL, also when it fails. */
static u32 nvsim_uvm_range_add(struct nvsim_uvm *uvm, enum nvsim_uvm_type type, u64 base,
			       u64 length, struct nvsim_mem *mem)
{
	struct nvsim_uvm_range *r;
	u32 status = NV_ERR_UVM_ADDRESS_IN_USE;

	lockdep_assert_held(&uvm->lock);
	if (nvsim_uvm_find(uvm, base, base + length - 1))
		goto err_mem;
	status = NV_ERR_NO_MEMORY;
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		goto err_mem;
	if (mem) {
		status = nvsim_vas_map(uvm->vas, base, length, mem, 0);
		if (status != NV_OK)
			goto err_range;
	}
	r->type = type;
	r->mem = mem;
	r->range.start = base;
	r->range.last = base + length - 1;
	interval_tree_insert(&r->range, &uvm->ranges);
	return NV_OK;

err_range:
	kfree(r);
err_mem:
	if (mem)
		nvsim_mem_put(mem);
	return status;
}

u32 nvsim_uvm_range_create(struct nvsim_uvm *uvm, enum nvsim_uvm_type type, u64 base, u64 length)
{
	struct nvsim_mem *mem = NULL;
	u32 status;

	if (!nvsim_uvm_valid(base, length))
		return NV_ERR_INVALID_ADDRESS;
	if (type == NVSIM_UVM_SEMAPHORES) {
		status = nvsim_mem_create(NULL, NULL, NVSIM_MEM_SYSTEM, 0, length, &mem);
		if (status != NV_OK)
			return status;
	}
	mutex_lock(&uvm->lock);
	status = nvsim_uvm_range_add(uvm, type, base, length, mem);
	mutex_unlock(&uvm->lock);
	return status;
}

/* Managed ranges go with their VMA and not otherwise. */
u32 nvsim_uvm_range_free(struct nvsim_uvm *uvm, u64 base, u64 length)
{
	struct nvsim_uvm_range *r;
	u32 status = NV_ERR_INVALID_ADDRESS;

	mutex_lock(&uvm->lock);
	r = nvsim_uvm_find(uvm, base, base);
	if (r && r->type != NVSIM_UVM_MANAGED && r->range.start == base &&
	    r->range.last == base + length - 1) {
		nvsim_uvm_range_drop(uvm, r);
		status = NV_OK;
	}
	mutex_unlock(&uvm->lock);
	return status;
}

static bool nvsim_uvm_in_external(struct nvsim_uvm *uvm, u64 base, u64 length)
{
	struct nvsim_uvm_range *r = nvsim_uvm_find(uvm, base, base);

	return r && r->type == NVSIM_UVM_EXTERNAL && base + length - 1 <= r->range.last;
}

u32 nvsim_uvm_map_external(struct nvsim_uvm *uvm, u64 base, u64 length, struct nvsim_mem *mem,
			   u64 offset)
{
	u32 status = NV_ERR_INVALID_ADDRESS;

	if (!nvsim_uvm_valid(base, length))
		return status;
	mutex_lock(&uvm->lock);
	if (nvsim_uvm_in_external(uvm, base, length))
		status = nvsim_vas_map(uvm->vas, base, length, mem, offset);
	mutex_unlock(&uvm->lock);
	return status;
}

u32 nvsim_uvm_unmap_external(struct nvsim_uvm *uvm, u64 base, u64 length)
{
	u32 status = NV_ERR_INVALID_ADDRESS;

	if (!nvsim_uvm_valid(base, length))
		return status;
	mutex_lock(&uvm->lock);
	if (nvsim_uvm_in_external(uvm, base, length) &&
	    nvsim_vas_is_mapping(uvm->vas, base, length)) {
		nvsim_vas_unmap(uvm->vas, base, length);
		status = NV_OK;
	}
	mutex_unlock(&uvm->lock);
	return status;
}

static bool nvsim_uvm_covered(struct nvsim_uvm *uvm, u64 base, u64 length, bool managed)
{
	struct nvsim_uvm_range *r;
	u64 at = base, last = base + length - 1;
	bool covered = false;

	if (!nvsim_uvm_valid(base, length))
		return false;
	mutex_lock(&uvm->lock);
	while (!covered) {
		r = nvsim_uvm_find(uvm, at, at);
		if (!r || (managed && r->type != NVSIM_UVM_MANAGED))
			break;
		covered = r->range.last >= last;
		at = r->range.last + 1;
	}
	mutex_unlock(&uvm->lock);
	return covered;
}

bool nvsim_uvm_covers(struct nvsim_uvm *uvm, u64 base, u64 length)
{
	return nvsim_uvm_covered(uvm, base, length, false);
}

bool nvsim_uvm_covers_managed(struct nvsim_uvm *uvm, u64 base, u64 length)
{
	return nvsim_uvm_covered(uvm, base, length, true);
}

void nvsim_uvm_ranges_destroy(struct nvsim_uvm *uvm)
{
	struct nvsim_uvm_range *r;

	mutex_lock(&uvm->lock);
	while ((r = nvsim_uvm_find(uvm, 0, U64_MAX)))
		nvsim_uvm_range_drop(uvm, r);
	mutex_unlock(&uvm->lock);
}

static void nvsim_uvm_keep(struct nvsim_uvm *uvm, const struct nvsim_uvm_range *of, u64 start,
			   u64 last)
{
	struct nvsim_uvm_range *r = kmemdup(of, sizeof(*of), GFP_KERNEL | __GFP_NOFAIL);

	nvsim_mem_get(r->mem);
	r->range.start = start;
	r->range.last = last;
	interval_tree_insert(&r->range, &uvm->ranges);
}

/* A VMA goes: what it covered of managed ranges goes with it, the rest of a split one stays. */
static void nvsim_uvm_cut_managed(struct nvsim_uvm *uvm, u64 start, u64 last)
{
	struct nvsim_uvm_range *r;

	mutex_lock(&uvm->lock);
	while ((r = nvsim_uvm_find(uvm, start, last)) && r->type == NVSIM_UVM_MANAGED) {
		interval_tree_remove(&r->range, &uvm->ranges);
		if (r->range.start < start)
			nvsim_uvm_keep(uvm, r, r->range.start, start - 1);
		if (r->range.last > last)
			nvsim_uvm_keep(uvm, r, last + 1, r->range.last);
		nvsim_mem_put(r->mem);
		kfree(r);
	}
	nvsim_vas_unmap(uvm->vas, start, last - start + 1);
	mutex_unlock(&uvm->lock);
}

static void nvsim_uvm_area_put(struct nvsim_uvm_area *area)
{
	if (!refcount_dec_and_test(&area->vmas))
		return;
	nvsim_mem_put(area->mem);
	kfree(area);
}

static vm_fault_t nvsim_uvm_no_fault(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct nvsim_uvm_dead_ops = {
	.fault	= nvsim_uvm_no_fault,
};

/* Split, forked or moved: only what is still where its offset says belongs to the range. */
static void nvsim_uvm_vma_open(struct vm_area_struct *vma)
{
	struct nvsim_uvm_area *area = vma->vm_private_data;

	if (vma->vm_mm != area->mm || vma->vm_start != vma->vm_pgoff << PAGE_SHIFT) {
		vma->vm_ops = &nvsim_uvm_dead_ops;
		vma->vm_private_data = NULL;
		return;
	}
	refcount_inc(&area->vmas);
}

static void nvsim_uvm_vma_close(struct vm_area_struct *vma)
{
	struct nvsim_uvm_area *area = vma->vm_private_data;

	/* The process ends: channels stop first, uvm_va_space_mm_shutdown(). */
	if (area->uvm->mm == vma->vm_mm && !atomic_read(&vma->vm_mm->mm_users))
		nvsim_uvm_stop_channels(area->uvm);
	if (area->managed)
		nvsim_uvm_cut_managed(area->uvm, vma->vm_start, vma->vm_end - 1);
	nvsim_uvm_area_put(area);
}

static vm_fault_t nvsim_uvm_vma_fault(struct vm_fault *vmf)
{
	struct nvsim_uvm_area *area = vmf->vma->vm_private_data;
	struct page *page = nvsim_mem_page(area->mem, vmf->pgoff - area->first, true);

	if (!page)
		return VM_FAULT_OOM;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct nvsim_uvm_vm_ops = {
	.open	= nvsim_uvm_vma_open,
	.close	= nvsim_uvm_vma_close,
	.fault	= nvsim_uvm_vma_fault,
};

/* Memory behind a new VMA: that of the semaphore pool exactly there, else a new managed range's. */
static int nvsim_uvm_area_mem(struct nvsim_uvm *uvm, struct nvsim_uvm_area *area, u64 base,
			      u64 length)
{
	struct nvsim_uvm_range *r;
	u32 status;

	mutex_lock(&uvm->lock);
	r = nvsim_uvm_find(uvm, base, base + length - 1);
	if (r && r->type == NVSIM_UVM_SEMAPHORES && r->range.start == base &&
	    r->range.last == base + length - 1) {
		nvsim_mem_get(r->mem);
		area->mem = r->mem;
		status = NV_OK;
	} else {
		area->managed = true;
		status = nvsim_mem_create(NULL, NULL, NVSIM_MEM_SYSTEM, 0, length, &area->mem);
		if (status == NV_OK) {
			nvsim_mem_get(area->mem);
			status = nvsim_uvm_range_add(uvm, NVSIM_UVM_MANAGED, base, length,
						     area->mem);
			if (status != NV_OK)
				nvsim_mem_put(area->mem);
		}
	}
	mutex_unlock(&uvm->lock);

	if (status == NV_OK)
		return 0;
	/* nv_status_to_errno() of 535 */
	return status == NV_ERR_NO_MEMORY ? -ENOMEM : -EINVAL;
}

int nvsim_uvm_mmap_range(struct nvsim_uvm *uvm, struct vm_area_struct *vma)
{
	const vm_flags_t wanted = VM_SHARED | VM_READ | VM_WRITE;
	struct nvsim_uvm_area *area;
	int err;

	if (uvm->mm && uvm->mm != current->mm)
		return -EOPNOTSUPP;
	if (vma->vm_start != vma->vm_pgoff << PAGE_SHIFT || (vma->vm_flags & wanted) != wanted)
		return -EINVAL;

	area = kzalloc(sizeof(*area), GFP_KERNEL_ACCOUNT);
	if (!area)
		return -ENOMEM;
	refcount_set(&area->vmas, 1);
	area->uvm = uvm;
	area->mm = vma->vm_mm;
	area->first = vma->vm_pgoff;
	err = nvsim_uvm_area_mem(uvm, area, vma->vm_start, vma->vm_end - vma->vm_start);
	if (err) {
		kfree(area);
		return err;
	}
	nvsim_vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_private_data = area;
	vma->vm_ops = &nvsim_uvm_vm_ops;
	return 0;
}
