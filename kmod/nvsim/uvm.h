/* SPDX-License-Identifier: GPL-2.0-only */
/* UVM: what an open nvidia-uvm file knows of addresses. */
#ifndef NVSIM_UVM_H
#define NVSIM_UVM_H

#include <linux/interval_tree.h>

#include "vas.h"

/*
 * uvm->lock is taken under mmap_lock (mmap, VMAs that go) and so never held where user memory is
 * touched; nvsim_rm_lock is never taken under it. Locks of VA spaces are taken below it.
 */
struct nvsim_uvm {
	struct mutex lock;			/* everything below */
	bool initialized;			/* set once, read without it */
	u64 flags;
	struct mm_struct *mm;			/* whose VMAs they are; NULL: anybody's */
	struct rb_root_cached ranges;		/* struct nvsim_uvm_range */
	struct nvsim_vas *vas;			/* what GPUs see */
	DECLARE_BITMAP(gpus, NVSIM_MAX_GPUS);	/* registered */
	struct nvsim_vas *spaces[NVSIM_MAX_GPUS]; /* registered RM VA spaces; one reference each */
	u64 range_groups;			/* made so far */
};

extern atomic_t nvsim_uvm_spaces_own, nvsim_uvm_spaces_shared;

enum nvsim_uvm_type {
	NVSIM_UVM_EXTERNAL,	/* RM memory is mapped into it */
	NVSIM_UVM_SEMAPHORES,	/* pool: host memory, mapped on request */
	NVSIM_UVM_SKED,		/* dynamic parallelism: addresses without memory */
	NVSIM_UVM_MANAGED,	/* a VMA of the process */
};

/* uvm.c: no channel that works in the file's addresses runs any more */
void nvsim_uvm_stop_channels(struct nvsim_uvm *uvm);

/* uvm_range.c; status words, under no lock */
u32 nvsim_uvm_range_create(struct nvsim_uvm *uvm, enum nvsim_uvm_type type, u64 base, u64 length);
u32 nvsim_uvm_range_free(struct nvsim_uvm *uvm, u64 base, u64 length);
u32 nvsim_uvm_map_external(struct nvsim_uvm *uvm, u64 base, u64 length, struct nvsim_mem *mem,
			   u64 offset);
u32 nvsim_uvm_unmap_external(struct nvsim_uvm *uvm, u64 base, u64 length);
/* Every byte is in a range (of that type). */
bool nvsim_uvm_covers(struct nvsim_uvm *uvm, u64 base, u64 length);
bool nvsim_uvm_covers_managed(struct nvsim_uvm *uvm, u64 base, u64 length);
void nvsim_uvm_ranges_destroy(struct nvsim_uvm *uvm);
int nvsim_uvm_mmap_range(struct nvsim_uvm *uvm, struct vm_area_struct *vma);

#endif
