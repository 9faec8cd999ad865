/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvidia-uvm files: what of the driver's VA space counts.
 *
 * External mappings (RM memory that UVM keeps alive) hold the charge of the memory; see
 * core/range.h. Managed ranges are charged by length, on every GPU that is registered in the file,
 * since their pages may be on any of them; see managed.c. Semaphore pools are host memory (535
 * uvm_va_range.c) and only recorded, so that the mmap of one is not taken for a managed range.
 */
#ifndef VGPU_UVM_H
#define VGPU_UVM_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "core/range.h"

struct file;
struct vgpu_file;
struct vgpu_tenant;
struct vm_area_struct;

enum vgpu_space {
	VGPU_SPACE_EXTERNAL = 1,
	VGPU_SPACE_POOL,
};

/**
 * struct vgpu_uvm - state of an nvidia-uvm file
 * @mutex: held over the driver's calls that make or free ranges, so that we see the driver's order
 * @vf: the open file
 * @registered: bit n: the tenant's GPU n is registered; from here on under the tenant's lock
 * @spaces: external ranges and semaphore pools, by tag enum vgpu_space
 * @externals: mappings in external ranges, by tag slice + 1
 * @managed: struct vgpu_managed that are charged
 * @managed_gone: those to be freed
 * @managed_bytes: their sum
 * @reap: frees @managed_gone
 */
struct vgpu_uvm {
	struct mutex mutex;	/* over the driver's calls that make or free ranges */
	struct vgpu_file *vf;
	u32 registered;
	struct vgpu_ranges spaces;
	struct vgpu_ranges externals;
	struct list_head managed;
	struct list_head managed_gone;
	u64 managed_bytes;
	struct work_struct reap;
};

int vgpu_uvm_open(struct vgpu_file *vf);
/* After the driver's release, or when its open failed. */
void vgpu_uvm_release(struct vgpu_file *vf);

/* managed.c */
void vgpu_managed_init(struct vgpu_uvm *uvm);
int vgpu_managed_mmap(struct vgpu_uvm *uvm, struct file *file, struct vm_area_struct *vma);
void vgpu_managed_free(struct vgpu_uvm *uvm, u64 base, u64 length);
/* Charges what is there to a GPU that is about to be registered. */
int vgpu_managed_register(struct vgpu_uvm *uvm, u32 slice);
void vgpu_managed_release(struct vgpu_uvm *uvm);

#endif /* VGPU_UVM_H */
