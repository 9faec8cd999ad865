/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tenant: the accounted party, with one slice per GPU that it may see.
 *
 * Life: vgpu_tenant_create() makes it whole and publishes it; vgpu_tenant_remove() (kept) or the
 * end of its superblock (bound) takes it off the list and marks it dead, after which no file of it
 * opens; the last reference frees it. References: the list, the superblock, whoever found it by
 * name. Open files need none: they keep the superblock.
 *
 * Locks, outermost first. None but the spinlocks is taken on an ioctl that is passed through.
 *
 *	client mutexes (frontend.c)	held over the driver's call that makes or frees objects of a
 *					client; two in order of address
 *	vgpu_tenants_mutex (tenant.c)	set of tenants, sums of limits per GPU, calibrations
 *	resolve mutex (backing.c)	one search for the driver at a time; waits for a kworker
 *					that takes none of these locks
 *	mmap_lock			->mmap is called with it
 *	driver lock (backing.c)		what was found of the driver; module notifier
 *	tenant->lock			ledgers, book, files, ranges of its nvidia-uvm files
 *	vgpu_files_lock (node.c)	writers of the table of open files
 *	vgpu_cgroups_lock (tenant.c)	recorded cgroups
 *	event mutex (netlink.c)		order of events; never under a spinlock
 *
 * The driver is never called with a spinlock or vgpu_tenants_mutex held.
 */
#ifndef VGPU_TENANT_H
#define VGPU_TENANT_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/vgpu.h>

#include "core/book.h"
#include "core/ledger.h"

struct cgroup;

/**
 * struct vgpu_slice - what a tenant holds of one GPU
 * @ledger: its memory account
 * @uuid, @pci: the GPU; fixed
 * @uuid_bytes: @uuid as the driver passes it
 * @domain, @bus, @device: @pci in numbers
 * @capacity: what all slices of the GPU may sum to
 * @flags: VGPU_SLICE_*
 * @minor, @minor_generation: what backing.c found of it and when
 * @context_bytes: what the driver said that a context takes, 0: not asked
 */
struct vgpu_slice {
	struct vgpu_ledger ledger;
	char uuid[VGPU_UUID_LEN];
	char pci[VGPU_PCI_LEN];
	u8 uuid_bytes[16];
	u32 domain;
	u32 bus;
	u32 device;
	u64 capacity;
	u32 flags;
	int minor;
	u64 minor_generation;
	u64 context_bytes;
};

/**
 * struct vgpu_tenant - see above
 * @refs: references
 * @id: number, never used twice
 * @flags: VGPU_CREATE_*
 * @lock: guards all below it
 * @dead: no file opens any more
 * @nr_files: open files, those being opened included
 * @files: struct vgpu_file by @link, only those that are open
 * @book: RM clients and objects
 * @name, @nr_slices, @slices: fixed, but for the ledgers
 */
struct vgpu_tenant {
	refcount_t refs;
	u64 id;
	u32 flags;
	char name[VGPU_NAME_LEN];

	spinlock_t lock;	/* all below it */
	bool dead;
	u32 nr_files;
	struct list_head files;
	struct vgpu_book book;

	u32 nr_slices;
	struct vgpu_slice slices[];
};

/* What a driver takes without naming a size, when that was measured. */
struct vgpu_calibration {
	bool known;
	u64 channel_bytes;
	u64 context_bytes;
};

void vgpu_reason(char *reason, const char *fmt, ...) __printf(2, 3);

int vgpu_tenant_create(const struct vgpu_ioc_create *arg, const struct vgpu_slice_spec *specs,
		       u64 *id, char *reason);
int vgpu_tenant_remove(struct vgpu_ioc_remove *arg);
void vgpu_tenant_retire(struct vgpu_tenant *tenant);

struct vgpu_tenant *vgpu_tenant_find(const char *name);
struct vgpu_tenant *vgpu_tenant_next(u64 *id);
void vgpu_tenant_put(struct vgpu_tenant *tenant);
u32 vgpu_tenant_count(void);

int vgpu_tenant_join(struct vgpu_tenant *tenant, int cgroup_fd, char *reason);
bool vgpu_may_manage(void);

int vgpu_calibrate(const struct vgpu_ioc_calibrate *arg, char *reason);
struct vgpu_calibration vgpu_calibration(const char *uuid, const char *driver);

void vgpu_tenants_exit(void);

#endif /* VGPU_TENANT_H */
