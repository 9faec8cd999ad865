// SPDX-License-Identifier: GPL-2.0-only
/* /dev/vgpuctl: the verbs. */

#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vgpu.h>

#include "backing.h"
#include "ctl.h"
#include "tenant.h"

/* Every struct of a verb begins so. */
struct vgpu_ctl_head {
	u32 size;
	u32 flags;
};

union vgpu_ctl_arg {
	struct vgpu_ctl_head head;
	struct vgpu_ioc_info info;
	struct vgpu_ioc_create create;
	struct vgpu_ioc_remove remove;
	struct vgpu_ioc_join join;
	struct vgpu_ioc_calibrate calibrate;
};

/**
 * struct vgpu_ctl_op - a verb
 * @cmd: its ioctl
 * @flags: known flags
 * @size: of its struct
 * @min_size: of its struct in the first version
 * @reason: offset of the reason text
 * @run: does it
 */
struct vgpu_ctl_op {
	unsigned int cmd;
	u32 flags;
	size_t size;
	size_t min_size;
	size_t reason;
	int (*run)(union vgpu_ctl_arg *arg);
};

static int vgpu_ctl_info(union vgpu_ctl_arg *arg)
{
	struct vgpu_ioc_info *info = &arg->info;

	info->out_abi_version = VGPU_ABI_VERSION;
	info->out_driver_state = vgpu_backing_state(info->out_driver, info->reason);
	info->out_tenants = vgpu_tenant_count();
	return 0;
}

static int vgpu_ctl_create(union vgpu_ctl_arg *arg)
{
	struct vgpu_ioc_create *create = &arg->create;
	struct vgpu_slice_spec *specs;
	int ret;

	if (create->__reserved || !create->nr_slices || create->nr_slices > VGPU_MAX_SLICES) {
		vgpu_reason(create->reason, "a tenant has 1 to %u slices", VGPU_MAX_SLICES);
		return -EINVAL;
	}
	specs = memdup_user(u64_to_user_ptr(create->slices),
			    create->nr_slices * sizeof(*specs));
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	ret = vgpu_tenant_create(create, specs, &create->out_id, create->reason);
	kfree(specs);
	return ret;
}

static int vgpu_ctl_remove(union vgpu_ctl_arg *arg)
{
	if (arg->remove.__reserved)
		return -EINVAL;
	return vgpu_tenant_remove(&arg->remove);
}

static int vgpu_ctl_join(union vgpu_ctl_arg *arg)
{
	struct vgpu_ioc_join *join = &arg->join;
	struct vgpu_tenant *tenant;
	int ret;

	if (join->__reserved || strnlen(join->name, VGPU_NAME_LEN) == VGPU_NAME_LEN)
		return -EINVAL;
	tenant = vgpu_tenant_find(join->name);
	if (!tenant) {
		vgpu_reason(join->reason, "no tenant '%s'", join->name);
		return -ENOENT;
	}
	ret = vgpu_tenant_join(tenant, join->cgroup_fd, join->reason);
	vgpu_tenant_put(tenant);
	return ret;
}

static int vgpu_ctl_calibrate(union vgpu_ctl_arg *arg)
{
	return vgpu_calibrate(&arg->calibrate, arg->calibrate.reason);
}

#define VGPU_CTL_OP(_cmd, _struct, _flags, _run) {		\
	.cmd = _cmd,						\
	.flags = _flags,					\
	.size = sizeof(struct _struct),				\
	.min_size = offsetofend(struct _struct, reason),	\
	.reason = offsetof(struct _struct, reason),		\
	.run = _run,						\
}

static const struct vgpu_ctl_op vgpu_ctl_ops[] = {
	VGPU_CTL_OP(VGPU_IOC_INFO, vgpu_ioc_info, 0, vgpu_ctl_info),
	VGPU_CTL_OP(VGPU_IOC_CREATE, vgpu_ioc_create,
		    VGPU_CREATE_BOUND | VGPU_CREATE_OVERCOMMIT, vgpu_ctl_create),
	VGPU_CTL_OP(VGPU_IOC_REMOVE, vgpu_ioc_remove, 0, vgpu_ctl_remove),
	VGPU_CTL_OP(VGPU_IOC_JOIN, vgpu_ioc_join, 0, vgpu_ctl_join),
	VGPU_CTL_OP(VGPU_IOC_CALIBRATE, vgpu_ioc_calibrate, 0, vgpu_ctl_calibrate),
};

/* By number alone: the size in the command is that of the caller's version. */
static const struct vgpu_ctl_op *vgpu_ctl_find(unsigned int cmd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vgpu_ctl_ops); i++)
		if (_IOC_TYPE(cmd) == VGPU_IOC_MAGIC &&
		    _IOC_NR(cmd) == _IOC_NR(vgpu_ctl_ops[i].cmd))
			return &vgpu_ctl_ops[i];
	return NULL;
}

static long vgpu_ctl_ioctl(struct file *file, unsigned int cmd, unsigned long uarg)
{
	const struct vgpu_ctl_op *op = vgpu_ctl_find(cmd);
	void __user *user = (void __user *)uarg;
	union vgpu_ctl_arg arg = {};
	char *reason;
	u32 size;
	int ret;

	if (!op)
		return -ENOTTY;
	if (!vgpu_may_manage())
		return -EPERM;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < op->min_size)
		return -EINVAL;
	ret = copy_struct_from_user(&arg, op->size, user, size);
	if (ret)
		return ret;

	reason = (char *)&arg + op->reason;
	reason[0] = 0;
	if (arg.head.flags & ~op->flags) {
		vgpu_reason(reason, "unknown flags 0x%x", arg.head.flags & ~op->flags);
		ret = -EINVAL;
	} else {
		ret = op->run(&arg);
	}
	if (copy_to_user(user, &arg, min_t(size_t, size, op->size)))
		return -EFAULT;
	return ret;
}

static int vgpu_ctl_open(struct inode *inode, struct file *file)
{
	return vgpu_may_manage() ? nonseekable_open(inode, file) : -EPERM;
}

static const struct file_operations vgpu_ctl_fops = {
	.owner = THIS_MODULE,
	.open = vgpu_ctl_open,
	.unlocked_ioctl = vgpu_ctl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice vgpu_ctl_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = VGPU_CTL_NAME,
	.mode = 0600,
	.fops = &vgpu_ctl_fops,
};

int vgpu_ctl_init(void)
{
	return misc_register(&vgpu_ctl_device);
}

void vgpu_ctl_exit(void)
{
	misc_deregister(&vgpu_ctl_device);
}
