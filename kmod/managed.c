// SPDX-License-Identifier: GPL-2.0-only
/*
 * Managed memory, charged by length of address space.
 *
 * A managed range is made by mmap and ends with munmap. The driver's VMA operations must not be
 * wrapped (it compares their address), so an interval notifier watches the addresses instead: when
 * part of them is unmapped by the process itself we count what is still mapped through this file.
 * What remains charged:
 *
 *  - until munmap, or until the file's release when the process ends first: with multi-process
 *    sharing the driver keeps the range of a process that has ended (535 uvm.c
 *    uvm_vm_close_managed: zombie);
 *  - until UVM_FREE of such a range.
 *
 * A copy of the mapping in a forked child holds no memory: the driver disables it.
 */

#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/slab.h>

#include "backing.h"
#include "charge.h"
#include "netlink.h"
#include "node.h"
#include "tenant.h"
#include "uvm.h"

/**
 * struct vgpu_managed - one mmap
 * @notifier: over its addresses
 * @made: the driver has made it; under the tenant's lock
 * @link: in uvm->managed or uvm->managed_gone
 * @uvm: the file it was made through
 * @mm: the process; not a reference, for comparison alone
 * @start: first address
 * @end: after the last
 * @bytes: charged
 */
struct vgpu_managed {
	struct mmu_interval_notifier notifier;
	bool made;
	struct list_head link;
	struct vgpu_uvm *uvm;
	const struct mm_struct *mm;
	unsigned long start;
	unsigned long end;
	u64 bytes;
};

static void vgpu_managed_settle_locked(struct vgpu_managed *managed, u64 bytes)
{
	struct vgpu_uvm *uvm = managed->uvm;
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	u64 less = managed->bytes - bytes;
	u32 i;

	lockdep_assert_held(&tenant->lock);
	for (i = 0; i < tenant->nr_slices; i++)
		if (uvm->registered & BIT(i))
			vgpu_uncharge_locked(tenant, i, VGPU_CHARGE_MANAGED, less);
	uvm->managed_bytes -= less;
	managed->bytes = bytes;
	if (!bytes) {
		list_move(&managed->link, &uvm->managed_gone);
		schedule_work(&uvm->reap);
	}
}

static u64 vgpu_managed_mapped(const struct vgpu_managed *managed, struct mm_struct *mm)
{
	unsigned long addr = managed->start;
	struct vm_area_struct *vma;
	u64 bytes = 0;

	while (addr < managed->end && (vma = find_vma_intersection(mm, addr, managed->end))) {
		if (vma->vm_file == managed->uvm->vf->file)
			bytes += min(vma->vm_end, managed->end) - max(vma->vm_start, addr);
		addr = vma->vm_end;
	}
	return bytes;
}

/*
 * MMU_NOTIFY_UNMAP comes from munmap, after the mappings have left the tree, and from mremap,
 * before: then nothing is less yet. Both hold mmap_lock.
 */
static bool vgpu_managed_invalidate(struct mmu_interval_notifier *notifier,
				    const struct mmu_notifier_range *range, unsigned long seq)
{
	struct vgpu_managed *managed = container_of(notifier, struct vgpu_managed, notifier);
	struct vgpu_tenant *tenant = managed->uvm->vf->node->tenant;
	u64 bytes;

	mmu_interval_set_seq(notifier, seq);
	if (range->event != MMU_NOTIFY_UNMAP || current->mm != range->mm)
		return true;
	bytes = vgpu_managed_mapped(managed, range->mm);
	spin_lock(&tenant->lock);
	if (bytes < managed->bytes)
		vgpu_managed_settle_locked(managed, bytes);
	spin_unlock(&tenant->lock);
	return true;
}

static const struct mmu_interval_notifier_ops vgpu_managed_ops = {
	.invalidate = vgpu_managed_invalidate,
};

/* A new mapping is being made: what lay there is gone, whatever the notifier saw. */
static void vgpu_managed_displace_locked(struct vgpu_uvm *uvm, const struct vm_area_struct *vma)
{
	struct vgpu_managed *managed, *next;

	list_for_each_entry_safe(managed, next, &uvm->managed, link)
		if (managed->mm == vma->vm_mm && managed->start >= vma->vm_start &&
		    managed->end <= vma->vm_end)
			vgpu_managed_settle_locked(managed, 0);
}

/* On refusal with the slice that refused. */
static int vgpu_managed_charge_locked(struct vgpu_managed *managed, u32 *refused)
{
	struct vgpu_uvm *uvm = managed->uvm;
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	int ret;
	u32 i;

	lockdep_assert_held(&tenant->lock);
	for (i = 0; i < tenant->nr_slices; i++) {
		if (!(uvm->registered & BIT(i)))
			continue;
		ret = vgpu_try_charge_locked(tenant, i, VGPU_CHARGE_MANAGED, managed->bytes);
		if (ret)
			goto undo;
	}
	uvm->managed_bytes += managed->bytes;
	list_add(&managed->link, &uvm->managed);
	return 0;

undo:
	*refused = i;
	while (i--)
		if (uvm->registered & BIT(i))
			vgpu_uncharge_locked(tenant, i, VGPU_CHARGE_MANAGED, managed->bytes);
	managed->bytes = 0;
	list_add(&managed->link, &uvm->managed_gone);
	schedule_work(&uvm->reap);
	return ret;
}

/* Called with mmap_lock held: nothing is unmapped meanwhile. */
int vgpu_managed_mmap(struct vgpu_uvm *uvm, struct file *file, struct vm_area_struct *vma)
{
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	u64 bytes = vma->vm_end - vma->vm_start;
	struct vgpu_managed *managed;
	u32 i, refused;
	int ret;

	for (i = 0; i < tenant->nr_slices; i++)
		if (tenant->slices[i].flags & VGPU_SLICE_NO_MANAGED)
			return -EPERM;

	managed = kzalloc(sizeof(*managed), GFP_KERNEL_ACCOUNT);
	if (!managed)
		return -ENOMEM;
	managed->uvm = uvm;
	managed->mm = vma->vm_mm;
	managed->start = vma->vm_start;
	managed->end = vma->vm_end;
	managed->bytes = bytes;
	ret = mmu_interval_notifier_insert_locked(&managed->notifier, vma->vm_mm, managed->start,
						  bytes, &vgpu_managed_ops);
	if (ret) {
		kfree(managed);
		return ret;
	}

	spin_lock(&tenant->lock);
	vgpu_managed_displace_locked(uvm, vma);
	ret = vgpu_managed_charge_locked(managed, &refused);
	spin_unlock(&tenant->lock);
	if (ret) {
		vgpu_event(VGPU_NL_EVENT_REFUSED, tenant, &tenant->slices[refused], bytes);
		return ret;
	}

	ret = vgpu_backing_mmap(&uvm->vf->node->drv, file, vma);
	spin_lock(&tenant->lock);
	if (ret)
		vgpu_managed_settle_locked(managed, 0);
	else
		managed->made = true;
	spin_unlock(&tenant->lock);
	return ret;
}

void vgpu_managed_free(struct vgpu_uvm *uvm, u64 base, u64 length)
{
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	struct vgpu_managed *managed, *next;

	spin_lock(&tenant->lock);
	list_for_each_entry_safe(managed, next, &uvm->managed, link)
		if (managed->made && managed->start == base &&
		    managed->end - managed->start == length)
			vgpu_managed_settle_locked(managed, 0);
	spin_unlock(&tenant->lock);
}

int vgpu_managed_register(struct vgpu_uvm *uvm, u32 slice)
{
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	int ret = 0;

	spin_lock(&tenant->lock);
	if (!(uvm->registered & BIT(slice))) {
		if (uvm->managed_bytes)
			ret = vgpu_try_charge_locked(tenant, slice, VGPU_CHARGE_MANAGED,
						     uvm->managed_bytes);
		if (!ret)
			uvm->registered |= BIT(slice);
	}
	spin_unlock(&tenant->lock);
	return ret;
}

static void vgpu_managed_reap(struct vgpu_uvm *uvm)
{
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	struct vgpu_managed *managed, *next;
	LIST_HEAD(gone);

	spin_lock(&tenant->lock);
	list_splice_init(&uvm->managed_gone, &gone);
	spin_unlock(&tenant->lock);

	list_for_each_entry_safe(managed, next, &gone, link) {
		/* Waits for a callback that is running. */
		mmu_interval_notifier_remove(&managed->notifier);
		kfree(managed);
	}
}

static void vgpu_managed_reap_work(struct work_struct *work)
{
	vgpu_managed_reap(container_of(work, struct vgpu_uvm, reap));
}

void vgpu_managed_init(struct vgpu_uvm *uvm)
{
	INIT_LIST_HEAD(&uvm->managed);
	INIT_LIST_HEAD(&uvm->managed_gone);
	INIT_WORK(&uvm->reap, vgpu_managed_reap_work);
}

/* The file goes, so no mapping of it is left: the rest are ranges that the driver kept for it. */
void vgpu_managed_release(struct vgpu_uvm *uvm)
{
	struct vgpu_tenant *tenant = uvm->vf->node->tenant;
	struct vgpu_managed *managed, *next;

	spin_lock(&tenant->lock);
	list_for_each_entry_safe(managed, next, &uvm->managed, link)
		vgpu_managed_settle_locked(managed, 0);
	spin_unlock(&tenant->lock);
	cancel_work_sync(&uvm->reap);
	vgpu_managed_reap(uvm);
}
