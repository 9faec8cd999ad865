// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia-uvm.
 *
 * Every tenant's VA spaces are made with multi-process sharing. That keeps the driver from tying
 * them to the process's address space, so heterogeneous memory (HMM, ATS, pageable access) is off:
 * with it any memory of the process could move to the GPU, and no request would say so. The flag is
 * set in a sealed argument (seal.h), so no other thread can take it out. It also means that the
 * driver has nothing to do for UVM_MM_INITIALIZE, whose descriptor it would want to be a file of
 * its own operations: we say so ourselves (535 uvm.c uvm_api_mm_initialize).
 *
 * What makes or frees ranges is sealed too. Its answer can be forged by another thread of the
 * caller, so it decides only what makes a charge stay.
 */

#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "charge.h"
#include "frontend.h"
#include "netlink.h"
#include "node.h"
#include "seal.h"
#include "tenant.h"
#include "trace.h"
#include "uvm.h"

/**
 * struct vgpu_uvm_call - one ioctl
 * @file: on what
 * @vf: the same
 * @uvm: state of it
 * @tenant: whose it is
 * @cmd: the command
 * @arg: argument in user memory
 * @req: decoded
 * @seal: the argument, or NULL
 */
struct vgpu_uvm_call {
	struct file *file;
	struct vgpu_file *vf;
	struct vgpu_uvm *uvm;
	struct vgpu_tenant *tenant;
	unsigned int cmd;
	void __user *arg;
	struct vgpu_uvm_req req;
	struct vgpu_seal *seal;
};

int vgpu_uvm_open(struct vgpu_file *vf)
{
	struct vgpu_uvm *uvm = kzalloc(sizeof(*uvm), GFP_KERNEL_ACCOUNT);

	if (!uvm)
		return -ENOMEM;
	uvm->vf = vf;
	mutex_init(&uvm->mutex);
	vgpu_ranges_init(&uvm->externals, get_random_u32());
	vgpu_ranges_init(&uvm->spaces, get_random_u32());
	vgpu_managed_init(uvm);
	vf->uvm = uvm;
	return 0;
}

void vgpu_uvm_release(struct vgpu_file *vf)
{
	struct vgpu_tenant *tenant = vf->node->tenant;
	struct vgpu_uvm *uvm = vf->uvm;
	struct vgpu_range *externals, *spaces;

	spin_lock(&tenant->lock);
	externals = vgpu_ranges_take_all(&uvm->externals);
	spaces = vgpu_ranges_take_all(&uvm->spaces);
	spin_unlock(&tenant->lock);
	vgpu_ranges_free(tenant, externals);
	vgpu_ranges_free(tenant, spaces);
	vgpu_managed_release(uvm);
	kfree(uvm);
	vf->uvm = NULL;
}

/* The tenant's GPU with this UUID, or VGPU_NO_SLICE. */
static u32 vgpu_slice_of_uuid(const struct vgpu_tenant *tenant, const u8 *uuid)
{
	u32 i;

	for (i = 0; i < tenant->nr_slices; i++)
		if (!memcmp(tenant->slices[i].uuid_bytes, uuid, 16))
			return i;
	return VGPU_NO_SLICE;
}

static u32 vgpu_uvm_slice(const struct vgpu_uvm_call *call, u32 n)
{
	return vgpu_slice_of_uuid(call->tenant,
				  call->seal->mem + call->req.uuid + n * call->req.uuid_stride);
}

static bool vgpu_uvm_gpus_ok(const struct vgpu_uvm_call *call)
{
	u32 n;

	for (n = 0; n < call->req.nr_uuids; n++)
		if (vgpu_uvm_slice(call, n) == VGPU_NO_SLICE)
			return false;
	return true;
}

static bool vgpu_uvm_object_ok(const struct vgpu_uvm_call *call)
{
	struct vgpu_tenant *tenant = call->tenant;
	bool ok;

	spin_lock(&tenant->lock);
	ok = vgpu_book_find(&tenant->book, call->req.client, call->req.object);
	spin_unlock(&tenant->lock);
	return ok;
}

static long vgpu_uvm_copy_out(const struct vgpu_uvm_call *call)
{
	return copy_to_user(call->arg, call->seal->mem, call->req.size) ? -EFAULT : 0;
}

static long vgpu_uvm_answer(const struct vgpu_uvm_call *call, u32 status)
{
	vgpu_uvm_set_status(&call->req, call->seal->mem, call->req.size, status);
	return vgpu_uvm_copy_out(call);
}

/* Forwards the sealed argument; *@ok: the driver says that it did it. */
static long vgpu_uvm_forward(const struct vgpu_uvm_call *call, bool *ok)
{
	u64 status = 0;
	long ret;

	*ok = false;
	ret = vgpu_backing_ioctl(&call->vf->drv, call->file, call->cmd, call->seal->addr);
	if (vgpu_seal_broken(call->seal)) {
		vgpu_file_punish(call->vf);
		return -EFAULT;
	}
	if (ret)
		return ret;
	vgpu_rm_get(call->req.row, VGPU_F_STATUS, 0, call->seal->mem, call->req.size, &status);
	*ok = status == VGPU_NV_OK;
	return 0;
}

static long vgpu_uvm_initialize(struct vgpu_uvm_call *call)
{
	const struct vgpu_rm_row *row = call->req.row;
	bool ok;
	long ret;

	vgpu_rm_put(row, VGPU_F_FLAGS, 0, call->seal->mem, call->req.size,
		    call->req.flags | VGPU_UVM_INIT_MULTI_PROCESS_SHARING);
	ret = vgpu_uvm_forward(call, &ok);
	if (ret)
		return ret;
	vgpu_rm_put(row, VGPU_F_FLAGS, 0, call->seal->mem, call->req.size, call->req.flags);
	return vgpu_uvm_copy_out(call);
}

/*
 * Stays registered, for us, until the file goes: the driver may keep what is there of a GPU as
 * long.
 */
static long vgpu_uvm_register_gpu(struct vgpu_uvm_call *call)
{
	u32 slice = vgpu_uvm_slice(call, 0);
	bool ok;
	long ret;

	if (vgpu_managed_register(call->uvm, slice)) {
		vgpu_event(VGPU_NL_EVENT_REFUSED, call->tenant, &call->tenant->slices[slice],
			   call->uvm->managed_bytes);
		return vgpu_uvm_answer(call, VGPU_NV_ERR_NO_MEMORY);
	}
	ret = vgpu_uvm_forward(call, &ok);
	return ret ? ret : vgpu_uvm_copy_out(call);
}

/* An external range or a semaphore pool is made. */
static long vgpu_uvm_space(struct vgpu_uvm_call *call, u64 tag)
{
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_range *range;
	bool ok;
	long ret;

	range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);
	if (!range)
		return -ENOMEM;
	range->base = call->req.base;
	range->length = call->req.length;
	range->tag = tag;
	ret = vgpu_uvm_forward(call, &ok);
	if (!ret && ok) {
		spin_lock(&tenant->lock);
		if (!vgpu_ranges_add(&call->uvm->spaces, range))
			range = NULL;
		spin_unlock(&tenant->lock);
	}
	kfree(range);
	return ret ? ret : vgpu_uvm_copy_out(call);
}

/* The space that the range lies in, or NULL. Spaces do not overlap. */
static const struct vgpu_range *vgpu_uvm_space_of_locked(const struct vgpu_uvm *uvm, u64 base,
							 u64 length)
{
	const struct vgpu_range *space = vgpu_ranges_at(&uvm->spaces, base);

	if (!space || base - space->base >= space->length ||
	    length > space->length - (base - space->base))
		return NULL;
	return space;
}

/*
 * Frees a whole space. A pool is forgotten before the driver frees it, since an mmap may come
 * between, and remembered again when the driver did not. Managed ranges of a process that has ended
 * go this way too.
 */
static long vgpu_uvm_free(struct vgpu_uvm_call *call)
{
	struct vgpu_range *space = NULL, *externals = NULL;
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_uvm *uvm = call->uvm;
	const struct vgpu_range *whole;
	u64 base = call->req.base, length = call->req.length;
	bool ok;
	long ret;

	spin_lock(&tenant->lock);
	whole = vgpu_uvm_space_of_locked(uvm, base, length);
	if (whole && whole->base == base && whole->length == length)
		space = vgpu_ranges_take(&uvm->spaces, base, length, 0);
	spin_unlock(&tenant->lock);

	ret = vgpu_uvm_forward(call, &ok);
	spin_lock(&tenant->lock);
	if (space && !ret && ok)
		externals = vgpu_ranges_take(&uvm->externals, base, length, 0);
	else if (space && !vgpu_ranges_add(&uvm->spaces, space))
		space = NULL;
	spin_unlock(&tenant->lock);
	if (!space && !ret && ok)
		vgpu_managed_free(uvm, base, length);
	vgpu_ranges_free(tenant, externals);
	vgpu_ranges_free(tenant, space);
	return ret ? ret : vgpu_uvm_copy_out(call);
}

/* One range a GPU, each with a reference of the charge; a list by @gone. */
static struct vgpu_range *vgpu_uvm_external_ranges(const struct vgpu_uvm_call *call)
{
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_range *list = NULL;
	u32 n;

	for (n = 0; n < call->req.nr_uuids; n++) {
		struct vgpu_range *range = kzalloc(sizeof(*range), GFP_KERNEL_ACCOUNT);

		if (!range) {
			vgpu_ranges_drop(tenant, list);
			return ERR_PTR(-ENOMEM);
		}
		range->base = call->req.base;
		range->length = call->req.length;
		range->tag = vgpu_uvm_slice(call, n) + 1;
		range->charge = vgpu_charge_of(tenant, call->req.client, call->req.object);
		range->gone = list;
		list = range;
	}
	return list;
}

/* Appends a list by @gone. */
static void vgpu_uvm_gone(struct vgpu_range **list, struct vgpu_range *more)
{
	while (*list)
		list = &(*list)->gone;
	*list = more;
}

/*
 * The driver keeps the memory of an external mapping after RM_FREE, so the mapping holds its
 * charge. A mapping replaces what was there on that GPU.
 */
static long vgpu_uvm_map_external(struct vgpu_uvm_call *call)
{
	struct vgpu_range *list, *range, *unused = NULL, *gone = NULL;
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_ranges *externals = &call->uvm->externals;
	bool ok, alone;
	long ret;

	list = vgpu_uvm_external_ranges(call);
	if (IS_ERR(list))
		return PTR_ERR(list);
	ret = vgpu_uvm_forward(call, &ok);
	alone = vgpu_call_alone();

	spin_lock(&tenant->lock);
	while ((range = list)) {
		list = range->gone;
		range->gone = NULL;
		if (ok && alone)
			vgpu_uvm_gone(&gone, vgpu_ranges_take(externals, range->base, range->length,
							      range->tag));
		if ((!ok && alone) || vgpu_ranges_add(externals, range))
			vgpu_uvm_gone(&unused, range);
	}
	spin_unlock(&tenant->lock);
	vgpu_ranges_free(tenant, gone);
	vgpu_ranges_drop(tenant, unused);
	return ret ? ret : vgpu_uvm_copy_out(call);
}

/*
 * The driver refuses what is not aligned or not inside one external range (535 uvm_map_external.c).
 */
static bool vgpu_uvm_unmaps_locked(const struct vgpu_uvm_call *call)
{
	u64 base = call->req.base, length = call->req.length;

	return PAGE_ALIGNED(base) && PAGE_ALIGNED(length) &&
	       vgpu_uvm_space_of_locked(call->uvm, base, length);
}

static long vgpu_uvm_unmap_external(struct vgpu_uvm_call *call)
{
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_range *gone = NULL;
	u32 slice = vgpu_uvm_slice(call, 0);
	bool ok;
	long ret;

	ret = vgpu_uvm_forward(call, &ok);
	spin_lock(&tenant->lock);
	if (!ret && ok && vgpu_uvm_unmaps_locked(call))
		gone = vgpu_ranges_take(&call->uvm->externals, call->req.base, call->req.length,
					slice + 1);
	spin_unlock(&tenant->lock);
	vgpu_ranges_free(tenant, gone);
	return ret ? ret : vgpu_uvm_copy_out(call);
}

static long vgpu_uvm_pageable(struct vgpu_uvm_call *call)
{
	bool ok;
	long ret = vgpu_uvm_forward(call, &ok);

	if (ret)
		return ret;
	vgpu_rm_put(call->req.row, VGPU_F_VALUE, 0, call->seal->mem, call->req.size, 0);
	return vgpu_uvm_copy_out(call);
}

static long vgpu_uvm_sealed(struct vgpu_uvm_call *call)
{
	bool ok;
	long ret;

	if (call->req.verdict == VGPU_RM_REFUSE_STATUS)
		return vgpu_uvm_answer(call, call->req.refuse_status);
	if (!vgpu_uvm_gpus_ok(call))
		return vgpu_uvm_answer(call, VGPU_NV_ERR_INVALID_DEVICE);

	switch (call->req.op) {
	case VGPU_UVM_INITIALIZE_OP:
		return vgpu_uvm_initialize(call);
	case VGPU_UVM_MM_INITIALIZE:
		return vgpu_uvm_answer(call, VGPU_NV_WARN_NOTHING_TO_DO);
	case VGPU_UVM_REGISTER_GPU:
		return vgpu_uvm_register_gpu(call);
	case VGPU_UVM_CREATE_EXTERNAL:
		return vgpu_uvm_space(call, VGPU_SPACE_EXTERNAL);
	case VGPU_UVM_SEMAPHORE_POOL:
		return vgpu_uvm_space(call, VGPU_SPACE_POOL);
	case VGPU_UVM_FREE:
		return vgpu_uvm_free(call);
	case VGPU_UVM_UNMAP_EXTERNAL:
		return vgpu_uvm_unmap_external(call);
	case VGPU_UVM_PAGEABLE_ACCESS:
		return vgpu_uvm_pageable(call);
	case VGPU_UVM_MAP_EXTERNAL:
	case VGPU_UVM_REGISTER_VASPACE:
	case VGPU_UVM_REGISTER_CHANNEL:
		if (!vgpu_uvm_object_ok(call))
			return vgpu_uvm_answer(call, VGPU_NV_ERR_INVALID_OBJECT_HANDLE);
		if (call->req.op == VGPU_UVM_MAP_EXTERNAL)
			return vgpu_uvm_map_external(call);
		break;
	default:
		break;
	}
	ret = vgpu_uvm_forward(call, &ok);
	return ret ? ret : vgpu_uvm_copy_out(call);
}

static long vgpu_uvm_run(struct vgpu_uvm_call *call)
{
	const struct vgpu_rm_abi *abi = call->vf->drv.abi;
	u32 size = vgpu_uvm_size(abi, call->cmd);
	const struct vgpu_rm_row *row;
	long ret;

	row = vgpu_rm_row(abi->uvm, call->cmd);
	/* What is not in the table is of the old interface, for tools, MPS or tests. */
	if (!row)
		return -EINVAL;
	if (READ_ONCE(call->vf->shut))
		return -EIO;
	if (row->what == VGPU_UVM_OTHER || !size)
		return vgpu_backing_ioctl(&call->vf->drv, call->file, call->cmd,
					  (unsigned long)call->arg);

	if (mutex_lock_killable(&call->uvm->mutex))
		return -ERESTARTSYS;
	call->seal = vgpu_seal_open(call->vf, size);
	if (IS_ERR(call->seal)) {
		ret = PTR_ERR(call->seal);
		goto unlock;
	}
	if (copy_from_user(call->seal->mem, call->arg, size)) {
		ret = -EFAULT;
	} else {
		vgpu_uvm_decode(abi, call->cmd, call->seal->mem, size, &call->req);
		ret = vgpu_uvm_sealed(call);
	}
	vgpu_seal_close(call->vf, call->seal);
unlock:
	mutex_unlock(&call->uvm->mutex);
	return ret;
}

static long vgpu_uvm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	u64 begin = trace_vgpu_ioctl_enabled() ? ktime_get_ns() : 0;
	struct vgpu_file *vf = vgpu_file_of(file);
	struct vgpu_uvm_call call = {
		.file = file,
		.vf = vf,
		.uvm = vf->uvm,
		.tenant = vf->node->tenant,
		.cmd = cmd,
		.arg = (void __user *)arg,
	};
	long ret = vgpu_uvm_run(&call);

	trace_vgpu_ioctl(call.tenant->id, VGPU_NODE_UVM, 0, cmd, 0, ret,
			 begin ? ktime_get_ns() - begin : 0);
	return ret;
}

static int vgpu_uvm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vgpu_file *vf = vgpu_file_of(file);
	struct vgpu_tenant *tenant = vf->node->tenant;
	const struct vgpu_range *space;
	bool pool;

	if (READ_ONCE(vf->shut))
		return -EIO;
	spin_lock(&tenant->lock);
	space = vgpu_uvm_space_of_locked(vf->uvm, vma->vm_start, vma->vm_end - vma->vm_start);
	pool = space && space->tag == VGPU_SPACE_POOL;
	spin_unlock(&tenant->lock);
	if (pool)
		return vgpu_backing_mmap(&vf->drv, file, vma);
	return vgpu_managed_mmap(vf->uvm, file, vma);
}

static int vgpu_uvm_file_release(struct inode *inode, struct file *file)
{
	struct vgpu_file *vf = vgpu_file_of(file);

	vgpu_backing_release(&vf->drv, inode, file);
	vgpu_uvm_release(vf);
	vgpu_node_release(inode, file, vf);
	return 0;
}

const struct file_operations vgpu_uvm_fops = {
	.owner = THIS_MODULE,
	.open = vgpu_node_open,
	.release = vgpu_uvm_file_release,
	.unlocked_ioctl = vgpu_uvm_ioctl,
	.compat_ioctl = vgpu_uvm_ioctl,
	.mmap = vgpu_uvm_mmap,
	.poll = vgpu_node_poll,
	.show_fdinfo = vgpu_node_show_fdinfo,
};
