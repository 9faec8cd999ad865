// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/nvidia-uvm. Numbers are plain (uvm_ioctl.h, uvm_linux_ioctl.h of 535.288.01), sizes are
 * those of 535, and the result is a status word inside each struct.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "engine.h"
#include "uvm.h"
#include "uvm_abi.h"

static const struct file_operations nvsim_uvm_fops;
static dev_t nvsim_uvm_dev;
static struct cdev nvsim_uvm_cdev;
static struct class *nvsim_uvm_class;

/* VA spaces made so far that are tied to a process, and that are not; shown in debugfs. */
atomic_t nvsim_uvm_spaces_own = ATOMIC_INIT(0);
atomic_t nvsim_uvm_spaces_shared = ATOMIC_INIT(0);

/* private_data: a VA space, or, after UVM_MM_INITIALIZE, a holder of another file that is one. */
struct nvsim_uvm_file {
	struct nvsim_uvm uvm;
	struct file *mm_of;			/* one reference; under uvm.lock */
};

/* The GPU of a uuid if it is registered here. */
static struct nvsim_gpu *nvsim_uvm_gpu(struct nvsim_uvm *uvm, const u8 *uuid)
{
	struct nvsim_gpu *gpu = nvsim_gpu_by_uuid(uuid);

	return gpu && test_bit(gpu->index, uvm->gpus) ? gpu : NULL;
}

/*
 * UVM takes an object of a client with the caller's rights, i.e. as RM_DUP_OBJECT between clients
 * of one process does (nv_gpu_ops.c, NV04_DUP_HANDLE_FLAGS_REJECT_KERNEL_DUP_PRIVILEGE).
 */
static struct nvsim_object *nvsim_uvm_object(u32 client, u32 handle)
{
	struct nvsim_object *obj = nvsim_object_lookup(client, handle);

	return obj && obj->client->pid == task_tgid(current) ? obj : NULL;
}

static bool nvsim_uvm_ready(struct nvsim_uvm *uvm)
{
	/* Pairs with nvsim_uvm_initialize(). */
	return smp_load_acquire(&uvm->initialized);
}

static u32 nvsim_uvm_initialize(struct nvsim_uvm *uvm, void *arg)
{
	struct nvsim_uvm_file *uf = container_of(uvm, struct nvsim_uvm_file, uvm);
	struct uvm_initialize *p = arg;
	u32 status = NV_OK;

	if (p->flags & ~(u64)UVM_INIT_FLAGS_ALL)
		return NV_ERR_INVALID_ARGUMENT;
	mutex_lock(&uvm->lock);
	if (uf->mm_of) {
		status = NV_ERR_ILLEGAL_ACTION;
	} else if (uvm->initialized) {
		if (uvm->flags != p->flags)
			status = NV_ERR_INVALID_ARGUMENT;
	} else {
		uvm->flags = p->flags;
		if (p->flags & UVM_INIT_FLAGS_SHARED) {
			atomic_inc(&nvsim_uvm_spaces_shared);
		} else {
			atomic_inc(&nvsim_uvm_spaces_own);
			uvm->mm = current->mm;
			mmgrab(uvm->mm);
		}
		/* Pairs with nvsim_uvm_ready(): who sees it set sees flags and mm. */
		smp_store_release(&uvm->initialized, true);
	}
	mutex_unlock(&uvm->lock);
	return status;
}

/* F4: the descriptor must be an nvidia-uvm file by its operations, and a VA space. */
static u32 nvsim_uvm_mm_initialize(struct file *file, struct uvm_mm_initialize *p)
{
	struct nvsim_uvm_file *uf = file->private_data;
	struct file *other = fget(p->uvmFd);
	struct nvsim_uvm_file *space;
	u32 status;

	if (!other)
		return NV_ERR_INVALID_ARGUMENT;
	status = NV_ERR_INVALID_ARGUMENT;
	if (other->f_op != &nvsim_uvm_fops || other == file)
		goto out;
	space = other->private_data;
	if (!nvsim_uvm_ready(&space->uvm))
		goto out;
	/* Such a file pins no mm that a second one could guard. */
	status = NV_WARN_NOTHING_TO_DO;
	if (!space->uvm.mm)
		goto out;

	mutex_lock(&uf->uvm.lock);
	status = NV_ERR_INVALID_ARGUMENT;
	if (!uf->uvm.initialized && !uf->mm_of) {
		uf->mm_of = other;
		other = NULL;
		status = NV_OK;
	}
	mutex_unlock(&uf->uvm.lock);
out:
	if (other)
		fput(other);
	return status;
}

static u32 nvsim_uvm_register_gpu(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_register_gpu *p = arg;
	struct nvsim_gpu *gpu = nvsim_gpu_by_uuid(p->uuid);

	if (!gpu)
		return NV_ERR_GPU_UUID_NOT_FOUND;
	if (!nvsim_gpu_accessible(gpu))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	set_bit(gpu->index, uvm->gpus);
	p->numaEnabled = 0;
	p->numaNodeId = -1;
	return NV_OK;
}

void nvsim_uvm_stop_channels(struct nvsim_uvm *uvm)
{
	unsigned int i;

	mutex_lock(&uvm->lock);
	for (i = 0; i < NVSIM_MAX_GPUS; i++)
		if (uvm->spaces[i])
			nvsim_engine_stop_space(nvsim_gpus[i].engine, uvm->spaces[i]);
	mutex_unlock(&uvm->lock);
}

/*
 * The space goes out of reach of what UVM mapped; its channels stop before they see that, as
 * uvm_gpu_va_space_stop_all_channels() has it.
 */
static void nvsim_uvm_drop_space(struct nvsim_uvm *uvm, unsigned int index)
{
	struct nvsim_vas *space;

	mutex_lock(&uvm->lock);
	space = uvm->spaces[index];
	uvm->spaces[index] = NULL;
	mutex_unlock(&uvm->lock);
	if (space) {
		nvsim_engine_stop_space(nvsim_gpus[index].engine, space);
		nvsim_vas_unmanage(space);
		nvsim_vas_put(space);
	}
}

static u32 nvsim_uvm_unregister_gpu(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_gpu *p = arg;
	struct nvsim_gpu *gpu = nvsim_uvm_gpu(uvm, p->uuid);

	if (!gpu)
		return NV_ERR_INVALID_DEVICE;
	nvsim_uvm_drop_space(uvm, gpu->index);
	clear_bit(gpu->index, uvm->gpus);
	return NV_OK;
}

static u32 nvsim_uvm_register_vaspace(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_register_gpu_vaspace *p = arg;
	struct nvsim_gpu *gpu = nvsim_uvm_gpu(uvm, p->uuid);
	struct nvsim_vas *space = NULL;
	struct nvsim_object *obj;
	u32 status = NV_OK;

	if (!gpu)
		return NV_ERR_INVALID_DEVICE;

	mutex_lock(&nvsim_rm_lock);
	obj = nvsim_uvm_object(p->hClient, p->hVaSpace);
	if (obj && obj->class == FERMI_VASPACE_A && obj->gpu == gpu) {
		space = obj->data;
		nvsim_vas_get(space);
	}
	mutex_unlock(&nvsim_rm_lock);
	if (!space)
		return NV_ERR_INVALID_OBJECT_HANDLE;

	mutex_lock(&uvm->lock);
	if (uvm->spaces[gpu->index] || !nvsim_vas_manage(space, uvm->vas))
		status = NV_ERR_INVALID_DEVICE;
	else
		uvm->spaces[gpu->index] = space;
	mutex_unlock(&uvm->lock);
	if (status != NV_OK)
		nvsim_vas_put(space);
	return status;
}

static u32 nvsim_uvm_unregister_vaspace(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_gpu *p = arg;
	struct nvsim_gpu *gpu = nvsim_uvm_gpu(uvm, p->uuid);

	if (!gpu)
		return NV_ERR_INVALID_DEVICE;
	nvsim_uvm_drop_space(uvm, gpu->index);
	return NV_OK;
}

/* base and length are room for what some engines need mapped; the simulated ones need nothing. */
static u32 nvsim_uvm_register_channel(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_register_channel *p = arg;
	struct nvsim_gpu *gpu = nvsim_uvm_gpu(uvm, p->uuid);
	struct nvsim_object *obj;
	bool ours;

	if (!gpu)
		return NV_ERR_INVALID_DEVICE;
	mutex_lock(&nvsim_rm_lock);
	obj = nvsim_uvm_object(p->hClient, p->hChannel);
	ours = obj && obj->class == AMPERE_CHANNEL_GPFIFO_A && obj->gpu == gpu;
	mutex_unlock(&nvsim_rm_lock);
	return ours ? NV_OK : NV_ERR_INVALID_CHANNEL;
}

/* Nothing was kept of it, and libcuda leaves the uuid out. */
static u32 nvsim_uvm_unregister_channel(struct nvsim_uvm *uvm, void *arg)
{
	return NV_OK;
}

static u32 nvsim_uvm_create_range_group(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range_group *p = arg;

	mutex_lock(&uvm->lock);
	p->rangeGroupId = ++uvm->range_groups;
	mutex_unlock(&uvm->lock);
	return NV_OK;
}

/* Groups only bind ranges together for migration, which there is none of. */
static bool nvsim_uvm_is_group(struct nvsim_uvm *uvm, u64 id)
{
	return id && id <= READ_ONCE(uvm->range_groups);
}

static u32 nvsim_uvm_destroy_range_group(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range_group *p = arg;

	return nvsim_uvm_is_group(uvm, p->rangeGroupId) ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
}

static u32 nvsim_uvm_set_range_group(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_set_range_group *p = arg;

	/* UVM_RANGE_GROUP_ID_NONE takes a range out of its group. */
	if (p->rangeGroupId && !nvsim_uvm_is_group(uvm, p->rangeGroupId))
		return NV_ERR_OBJECT_NOT_FOUND;
	return nvsim_uvm_covers_managed(uvm, p->base, p->length) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

static u32 nvsim_uvm_migrate_range_group(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_migrate_range_group *p = arg;

	return nvsim_uvm_is_group(uvm, p->rangeGroupId) ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
}

static u32 nvsim_uvm_create_external(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range *p = arg;

	return nvsim_uvm_range_create(uvm, NVSIM_UVM_EXTERNAL, p->base, p->length);
}

static u32 nvsim_uvm_check_attributes(struct nvsim_uvm *uvm,
				      const struct uvm_gpu_attributes *attributes, u64 count)
{
	u64 i;

	if (!count || count > UVM_MAX_GPU_ATTRIBUTES)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < count; i++)
		if (!nvsim_uvm_gpu(uvm, attributes[i].uuid))
			return NV_ERR_INVALID_DEVICE;
	return NV_OK;
}

/* The mapping has a reference of its own: memory outlives its handle, as in UVM's duplicate. */
static u32 nvsim_uvm_map_external_allocation(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_map_external *p = arg;
	struct nvsim_mem *mem = NULL;
	struct nvsim_object *obj;
	u32 status;

	status = nvsim_uvm_check_attributes(uvm, p->perGpuAttributes, p->gpuAttributesCount);
	if (status != NV_OK)
		return status;

	mutex_lock(&nvsim_rm_lock);
	obj = nvsim_uvm_object(p->hClient, p->hMemory);
	if (obj && obj->mem) {
		mem = obj->mem;
		nvsim_mem_get(mem);
	}
	mutex_unlock(&nvsim_rm_lock);
	if (!mem)
		return NV_ERR_INVALID_OBJECT_HANDLE;

	status = nvsim_uvm_map_external(uvm, p->base, p->length, mem, p->offset);
	nvsim_mem_put(mem);
	return status;
}

static u32 nvsim_uvm_unmap_external_allocation(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range_on *p = arg;

	if (!nvsim_uvm_gpu(uvm, p->uuid))
		return NV_ERR_INVALID_DEVICE;
	return nvsim_uvm_unmap_external(uvm, p->base, p->length);
}

static u32 nvsim_uvm_free(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range *p = arg;

	return nvsim_uvm_range_free(uvm, p->base, p->length);
}

static u32 nvsim_uvm_alloc_semaphore_pool(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_alloc_semaphore_pool *p = arg;
	u32 status;

	status = nvsim_uvm_check_attributes(uvm, p->perGpuAttributes, p->gpuAttributesCount);
	if (status != NV_OK)
		return status;
	return nvsim_uvm_range_create(uvm, NVSIM_UVM_SEMAPHORES, p->base, p->length);
}

static u32 nvsim_uvm_map_sked(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range_on *p = arg;

	if (!nvsim_uvm_gpu(uvm, p->uuid))
		return NV_ERR_INVALID_DEVICE;
	return nvsim_uvm_range_create(uvm, NVSIM_UVM_SKED, p->base, p->length);
}

static u32 nvsim_uvm_pageable(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_pageable *p = arg;

	p->pageableMemAccess = 0;
	return NV_OK;
}

static u32 nvsim_uvm_pageable_on_gpu(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_pageable_on_gpu *p = arg;

	if (!nvsim_uvm_gpu(uvm, p->uuid))
		return NV_ERR_INVALID_DEVICE;
	p->pageableMemAccess = 0;
	return NV_OK;
}

static u32 nvsim_uvm_validate(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range *p = arg;

	return nvsim_uvm_covers(uvm, p->base, p->length) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

/* Preferences and duplication on read say where managed pages should be, and are always met. */
static u32 nvsim_uvm_advice(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_range *p = arg;

	return nvsim_uvm_covers_managed(uvm, p->base, p->length) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

static u32 nvsim_uvm_migrate(struct nvsim_uvm *uvm, void *arg)
{
	struct uvm_migrate *p = arg;

	if (!nvsim_uvm_covers_managed(uvm, p->base, p->length))
		return NV_ERR_INVALID_ADDRESS;
	if (p->semaphoreAddress &&
	    nvsim_vas_store(uvm->vas, p->semaphoreAddress, sizeof(u32), p->semaphorePayload))
		return NV_ERR_INVALID_ADDRESS;
	p->userSpaceStart = 0;
	p->userSpaceLength = 0;
	return NV_OK;
}

/* No link between simulated GPUs. */
static u32 nvsim_uvm_no_peers(struct nvsim_uvm *uvm, void *arg)
{
	return NV_ERR_NOT_SUPPORTED;
}

struct nvsim_uvm_call {
	u32 nr;
	u16 size;
	u16 status_at;
	u32 (*handler)(struct nvsim_uvm *uvm, void *params);
};

#define UVM_CALL(nr_, type_, handler_) \
	{ .nr = (nr_), .handler = (handler_), .size = sizeof(struct type_), \
	  .status_at = offsetof(struct type_, rmStatus) }

static const struct nvsim_uvm_call nvsim_uvm_calls[] = {
	UVM_CALL(UVM_INITIALIZE, uvm_initialize, nvsim_uvm_initialize),
	UVM_CALL(23, uvm_range_group, nvsim_uvm_create_range_group),
	UVM_CALL(24, uvm_range_group, nvsim_uvm_destroy_range_group),
	UVM_CALL(25, uvm_register_gpu_vaspace, nvsim_uvm_register_vaspace),
	UVM_CALL(26, uvm_gpu, nvsim_uvm_unregister_vaspace),
	UVM_CALL(27, uvm_register_channel, nvsim_uvm_register_channel),
	UVM_CALL(28, uvm_unregister_channel, nvsim_uvm_unregister_channel),
	UVM_CALL(29, uvm_peer_access, nvsim_uvm_no_peers),
	UVM_CALL(30, uvm_peer_access, nvsim_uvm_no_peers),
	UVM_CALL(31, uvm_set_range_group, nvsim_uvm_set_range_group),
	UVM_CALL(33, uvm_map_external, nvsim_uvm_map_external_allocation),
	UVM_CALL(34, uvm_range, nvsim_uvm_free),
	UVM_CALL(37, uvm_register_gpu, nvsim_uvm_register_gpu),
	UVM_CALL(38, uvm_gpu, nvsim_uvm_unregister_gpu),
	UVM_CALL(39, uvm_pageable, nvsim_uvm_pageable),
	UVM_CALL(42, uvm_range_on, nvsim_uvm_advice),		/* SET_PREFERRED_LOCATION */
	UVM_CALL(43, uvm_range, nvsim_uvm_advice),		/* UNSET_PREFERRED_LOCATION */
	UVM_CALL(44, uvm_range, nvsim_uvm_advice),		/* ENABLE_READ_DUPLICATION */
	UVM_CALL(45, uvm_range, nvsim_uvm_advice),		/* DISABLE_READ_DUPLICATION */
	UVM_CALL(46, uvm_range_on, nvsim_uvm_advice),		/* SET_ACCESSED_BY */
	UVM_CALL(47, uvm_range_on, nvsim_uvm_advice),		/* UNSET_ACCESSED_BY */
	UVM_CALL(51, uvm_migrate, nvsim_uvm_migrate),
	UVM_CALL(53, uvm_migrate_range_group, nvsim_uvm_migrate_range_group),
	UVM_CALL(65, uvm_range_on, nvsim_uvm_map_sked),
	UVM_CALL(66, uvm_range_on, nvsim_uvm_unmap_external_allocation),
	UVM_CALL(68, uvm_alloc_semaphore_pool, nvsim_uvm_alloc_semaphore_pool),
	UVM_CALL(70, uvm_pageable_on_gpu, nvsim_uvm_pageable_on_gpu),
	UVM_CALL(72, uvm_range, nvsim_uvm_validate),
	UVM_CALL(73, uvm_range, nvsim_uvm_create_external),
	UVM_CALL(UVM_MM_INITIALIZE, uvm_mm_initialize, NULL),
};

static u32 nvsim_uvm_status(struct file *file, const struct nvsim_uvm_call *call, void *params)
{
	struct nvsim_uvm_file *uf = file->private_data;

	if (call->nr == UVM_MM_INITIALIZE)
		return nvsim_uvm_mm_initialize(file, params);
	if (call->nr != UVM_INITIALIZE && !nvsim_uvm_ready(&uf->uvm))
		return NV_ERR_ILLEGAL_ACTION;
	return call->handler(&uf->uvm, params);
}

static long nvsim_uvm_call(struct file *file, const struct nvsim_uvm_call *call, void __user *arg)
{
	void *params = memdup_user(arg, call->size);
	long ret = 0;

	if (IS_ERR(params))
		return PTR_ERR(params);
	*(u32 *)(params + call->status_at) = nvsim_uvm_status(file, call, params);
	if (copy_to_user(arg, params, call->size))
		ret = -EFAULT;
	kfree(params);
	return ret;
}

static long nvsim_uvm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	unsigned int i;

	if (cmd == UVM_DEINITIALIZE)
		return 0;
	for (i = 0; i < ARRAY_SIZE(nvsim_uvm_calls); i++)
		if (nvsim_uvm_calls[i].nr == cmd)
			return nvsim_uvm_call(file, &nvsim_uvm_calls[i], (void __user *)arg);
	return -EINVAL;
}

static int nvsim_uvm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct nvsim_uvm_file *uf = file->private_data;

	if (!nvsim_uvm_ready(&uf->uvm))
		return -EBADFD;
	return nvsim_uvm_mmap_range(&uf->uvm, vma);
}

static int nvsim_uvm_open(struct inode *inode, struct file *file)
{
	struct nvsim_uvm_file *uf = kzalloc(sizeof(*uf), GFP_KERNEL_ACCOUNT);

	if (!uf)
		return -ENOMEM;
	mutex_init(&uf->uvm.lock);
	uf->uvm.ranges = RB_ROOT_CACHED;
	uf->uvm.vas = nvsim_vas_create();
	if (!uf->uvm.vas) {
		kfree(uf);
		return -ENOMEM;
	}
	file->private_data = uf;
	return 0;
}

static int nvsim_uvm_release(struct inode *inode, struct file *file)
{
	struct nvsim_uvm_file *uf = file->private_data;
	unsigned int i;

	for (i = 0; i < NVSIM_MAX_GPUS; i++)
		nvsim_uvm_drop_space(&uf->uvm, i);
	nvsim_uvm_ranges_destroy(&uf->uvm);
	nvsim_vas_put(uf->uvm.vas);
	if (uf->uvm.mm)
		mmdrop(uf->uvm.mm);
	if (uf->mm_of)
		fput(uf->mm_of);
	file->private_data = NULL;
	kfree(uf);
	return 0;
}

static const struct file_operations nvsim_uvm_fops = {
	.owner		= THIS_MODULE,
	.open		= nvsim_uvm_open,
	.release	= nvsim_uvm_release,
	.unlocked_ioctl	= nvsim_uvm_ioctl,
	.compat_ioctl	= nvsim_uvm_ioctl,
	.mmap		= nvsim_uvm_mmap,
	.llseek		= noop_llseek,
};

int nvsim_uvm_init(struct class *class)
{
	struct device *dev;
	int err;

	err = alloc_chrdev_region(&nvsim_uvm_dev, 0, 1, "nvidia-uvm");
	if (err)
		return err;
	cdev_init(&nvsim_uvm_cdev, &nvsim_uvm_fops);
	nvsim_uvm_cdev.owner = THIS_MODULE;
	err = cdev_add(&nvsim_uvm_cdev, nvsim_uvm_dev, 1);
	if (err)
		goto err_region;
	dev = device_create(class, NULL, nvsim_uvm_dev, NULL, "nvidia-uvm");
	if (IS_ERR(dev)) {
		err = PTR_ERR(dev);
		goto err_cdev;
	}
	nvsim_uvm_class = class;
	return 0;

err_cdev:
	cdev_del(&nvsim_uvm_cdev);
err_region:
	unregister_chrdev_region(nvsim_uvm_dev, 1);
	return err;
}

void nvsim_uvm_exit(void)
{
	device_destroy(nvsim_uvm_class, nvsim_uvm_dev);
	cdev_del(&nvsim_uvm_cdev);
	unregister_chrdev_region(nvsim_uvm_dev, 1);
}
