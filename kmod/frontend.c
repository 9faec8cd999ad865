// SPDX-License-Identifier: GPL-2.0-only
/* nvidiactl and nvidia<n>: copy in, decode, and send each request its way. */

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "frontend.h"
#include "node.h"
#include "tenant.h"
#include "trace.h"

#define VGPU_IOCTL_TYPE		'F'	/* nv-ioctl-numbers.h; the driver does not look at it */

bool vgpu_call_alone(void)
{
	return atomic_read(&current->mm->mm_users) == 1;
}

long vgpu_call_forward(const struct vgpu_call *call)
{
	return vgpu_backing_ioctl(&call->node->drv, call->file, call->cmd,
				  (unsigned long)call->arg);
}

long vgpu_call_answer(struct vgpu_call *call, u32 status)
{
	if (!vgpu_rm_set_status(&call->req, call->outer, call->len, status))
		return -EINVAL;
	return copy_to_user(call->arg, call->outer, call->len) ? -EFAULT : 0;
}

long vgpu_call_refuse(struct vgpu_call *call)
{
	const struct vgpu_rm_req *req = &call->req;

	if (req->verdict == VGPU_RM_REFUSE_STATUS)
		return vgpu_call_answer(call, req->refuse_status);
	/* 535 nv.c and escape.c say EINVAL to what they do not know. */
	return -(long)req->refuse_errno;
}

/*
 * A descriptor in a request is one of the tenant's own. The driver looks it up again, and another
 * thread may have put another file there: what it can reach so is a mapping or a registration,
 * never memory that the ledger does not know.
 */
static bool vgpu_fd_ok(const struct vgpu_call *call)
{
	struct file *file;
	bool ok;

	if (call->req.fd < 0)
		return true;
	file = fget(call->req.fd);
	if (!file)
		return true;
	ok = vgpu_is_node(file) && vgpu_node_of(file)->tenant == call->tenant;
	fput(file);
	return ok;
}

static long vgpu_call_dispatch(struct vgpu_call *call)
{
	const struct vgpu_rm_req *req = &call->req;

	if (req->verdict != VGPU_RM_FORWARD)
		return vgpu_call_refuse(call);
	if (!vgpu_fd_ok(call))
		return -EINVAL;

	switch (req->op) {
	case VGPU_RM_CONTROL:
		if (req->control == VGPU_CONTROL_OTHER)
			return vgpu_call_forward(call);
		return vgpu_report_control(call);
	case VGPU_RM_ALLOC:
	case VGPU_RM_ALLOC_MEMORY:
	case VGPU_RM_ALLOC_CTXDMA:
	case VGPU_RM_DUP:
	case VGPU_RM_VID_HEAP_ALLOC:
		return vgpu_call_alloc(call);
	case VGPU_RM_FREE:
	case VGPU_RM_VID_HEAP_FREE:
		return vgpu_call_free(call);
	case VGPU_RM_VID_HEAP_INFO:
		return vgpu_report_heap(call);
	case VGPU_RM_CARD_INFO:
		return vgpu_report_card_info(call);
	case VGPU_RM_ATTACH_GPUS:
		return vgpu_report_attach(call);
	default:
		return vgpu_call_forward(call);
	}
}

static long vgpu_call_decode(struct vgpu_call *call, unsigned int nr)
{
	if (copy_from_user(call->outer, call->arg, call->len))
		return -EFAULT;
	vgpu_rm_decode(call->node->drv.abi, call->node->kind == VGPU_NODE_CTL, nr, call->outer,
		       call->len, &call->req);
	return 0;
}

/* Forwarded as what it wraps: the driver would read number and address again. */
static long vgpu_call_unwrap(struct vgpu_call *call)
{
	u32 nr = call->req.cmd, len = call->req.ptr_size;
	void *outer;
	long ret;

	if (nr > _IOC_NRMASK || len > VGPU_MAX_ARG)
		return -EINVAL;
	outer = kmalloc(len, GFP_KERNEL_ACCOUNT);
	if (!outer)
		return -ENOMEM;
	call->arg = u64_to_user_ptr(call->req.ptr);
	call->len = len;
	call->outer = outer;
	call->cmd = _IOC(_IOC_READ | _IOC_WRITE, VGPU_IOCTL_TYPE, nr, len);
	ret = vgpu_call_decode(call, nr);
	if (!ret)
		ret = call->req.op == VGPU_RM_XFER ? -EINVAL : vgpu_call_dispatch(call);
	kfree(outer);
	return ret;
}

static long vgpu_call_run(struct vgpu_call *call)
{
	long ret = vgpu_call_decode(call, _IOC_NR(call->cmd));

	if (ret)
		return ret;
	if (call->req.op == VGPU_RM_XFER && call->req.verdict == VGPU_RM_FORWARD)
		return vgpu_call_unwrap(call);
	return vgpu_call_dispatch(call);
}

static void vgpu_call_trace(const struct vgpu_call *call, long ret, u64 begin)
{
	const struct vgpu_rm_req *req = &call->req;

	trace_vgpu_ioctl(call->tenant->id, call->node->kind, call->node->index, _IOC_NR(call->cmd),
			 req->op == VGPU_RM_CONTROL || req->op == VGPU_RM_VID_HEAP_OTHER ?
			 req->cmd : req->class, ret, begin ? ktime_get_ns() - begin : 0);
}

/*
 * Most calls of a running program are controls that are nothing to us; no control is sealed. So
 * another thread may put a command of the table in its place before the driver reads it. What that
 * wins: a report that was not rewritten, or a control that a tenant may not make. An object that is
 * imported so is not in the book, and keeps memory that its process had charged past the free.
 */
static bool vgpu_plain_control(const struct vgpu_node *node, unsigned int cmd, unsigned long arg,
			       u32 *control)
{
	const struct vgpu_rm_abi *abi = node->drv.abi;

	if (_IOC_NR(cmd) != abi->control_nr || _IOC_SIZE(cmd) != abi->control_size ||
	    node->kind != VGPU_NODE_CTL)
		return false;
	if (get_user(*control, (u32 __user *)(arg + abi->control_cmd)))
		return false;
	return !vgpu_rm_row(abi->controls, *control);
}

static long vgpu_frontend_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct vgpu_node *node = vgpu_node_of(file);
	u64 begin = trace_vgpu_ioctl_enabled() ? ktime_get_ns() : 0;
	struct vgpu_call call;
	u64 small[24];
	u32 control;
	long ret;

	if (vgpu_plain_control(node, cmd, arg, &control)) {
		ret = vgpu_backing_ioctl(&node->drv, file, cmd, arg);
		trace_vgpu_ioctl(node->tenant->id, node->kind, node->index, _IOC_NR(cmd), control,
				 ret, begin ? ktime_get_ns() - begin : 0);
		return ret;
	}

	call.file = file;
	call.node = node;
	call.tenant = node->tenant;
	call.cmd = cmd;
	call.arg = (void __user *)arg;
	call.len = _IOC_SIZE(cmd);
	/* Filled by decoding; traced also when nothing could be decoded. */
	call.req.op = VGPU_RM_OTHER;
	call.req.class = 0;
	if (call.len <= sizeof(small)) {
		call.outer = small;
		ret = vgpu_call_run(&call);
	} else {
		void *outer = kmalloc(call.len, GFP_KERNEL_ACCOUNT);

		if (!outer)
			return -ENOMEM;
		call.outer = outer;
		ret = vgpu_call_run(&call);
		kfree(outer);
	}
	vgpu_call_trace(&call, ret, begin);
	return ret;
}

static int vgpu_frontend_mmap(struct file *file, struct vm_area_struct *vma)
{
	return vgpu_backing_mmap(&vgpu_node_of(file)->drv, file, vma);
}

static int vgpu_frontend_release(struct inode *inode, struct file *file)
{
	struct vgpu_file *vf = vgpu_file_of(file);

	/*
	 * The driver frees the clients that the file made; what they held is given back after that.
	 */
	vgpu_backing_release(&vf->drv, inode, file);
	vgpu_clients_drop(vf);
	kfree(vf->views);
	vgpu_node_release(inode, file, vf);
	return 0;
}

const struct file_operations vgpu_frontend_fops = {
	.owner = THIS_MODULE,
	.open = vgpu_node_open,
	.release = vgpu_frontend_release,
	.unlocked_ioctl = vgpu_frontend_ioctl,
	/*
	 * The driver's structs are the same for 32-bit programs, and it takes them so (535 nv.c).
	 */
	.compat_ioctl = vgpu_frontend_ioctl,
	.mmap = vgpu_frontend_mmap,
	.poll = vgpu_node_poll,
	.show_fdinfo = vgpu_node_show_fdinfo,
};
