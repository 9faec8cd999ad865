// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that report: the driver answers first, then the answer is rewritten where it lies. What
 * another thread of the caller can see or change in between is what the caller is told, nothing
 * that counts.
 */

#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "charge.h"
#include "frontend.h"
#include "node.h"
#include "tenant.h"

/* NV2080_CTRL_GPU_GET_PIDS_PARAMS has room for 950 (ctrl2080gpu.h). */
#define VGPU_MAX_PIDS		1024

/* The slice of the object that is asked, as the ledger says now. */
static bool vgpu_report_ledger(const struct vgpu_call *call, u32 handle, struct vgpu_ledger *ledger,
			       u32 *slice)
{
	struct vgpu_tenant *tenant = call->tenant;
	const struct vgpu_object *obj;

	spin_lock(&tenant->lock);
	obj = vgpu_book_find(&tenant->book, call->req.client, handle);
	*slice = obj ? obj->slice : VGPU_NO_SLICE;
	if (*slice != VGPU_NO_SLICE)
		*ledger = tenant->slices[*slice].ledger;
	spin_unlock(&tenant->lock);
	return *slice != VGPU_NO_SLICE;
}

struct vgpu_processes {
	struct vgpu_pid_view *views;
	u32 nr;
};

static u32 vgpu_count_clients(struct vgpu_tenant *tenant)
{
	const struct vgpu_client *client;
	u32 nr = 0;

	spin_lock(&tenant->lock);
	for (client = tenant->book.clients; client && nr < VGPU_MAX_PIDS; client = client->next)
		nr++;
	spin_unlock(&tenant->lock);
	return nr;
}

static bool vgpu_pid_known(const struct vgpu_processes *found, u32 pid)
{
	u32 i;

	for (i = 0; i < found->nr; i++)
		if (found->views[i].pid == pid)
			return true;
	return false;
}

/*
 * The tenant's processes with a client on a slice, as the caller's pid namespace sees them: the
 * driver speaks of pids in that namespace too (535 osGetCurrentProcess, os_pid_info).
 */
static int vgpu_find_processes(const struct vgpu_call *call, u32 slice,
			       struct vgpu_processes *found)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct vgpu_tenant *tenant = call->tenant;
	u32 room = vgpu_count_clients(tenant);
	const struct vgpu_client *client;
	u64 bytes[VGPU_CHARGE_KINDS];
	u32 pid, kind;

	found->nr = 0;
	found->views = kvcalloc(room + 1, sizeof(*found->views), GFP_KERNEL_ACCOUNT);
	if (!found->views)
		return -ENOMEM;
	spin_lock(&tenant->lock);
	for (client = tenant->book.clients; client && found->nr < room; client = client->next) {
		pid = pid_nr_ns(client->process, ns);
		if (!pid || vgpu_pid_known(found, pid))
			continue;
		vgpu_book_usage(&tenant->book, &tenant->slices[slice].ledger, client->process, 0,
				bytes);
		found->views[found->nr].pid = pid;
		for (kind = 0; kind < VGPU_CHARGE_KINDS; kind++)
			found->views[found->nr].bytes += bytes[kind];
		found->nr++;
	}
	spin_unlock(&tenant->lock);
	return 0;
}

/* FB_GET_INFO keeps its list behind a pointer. */
static long vgpu_report_fb_deep(struct vgpu_call *call, const struct vgpu_ledger *ledger)
{
	const struct vgpu_rm_req *req = &call->req;
	const struct vgpu_rm_row *item = vgpu_rm_item(req->abi, VGPU_ITEM_FB_INFO);
	void __user *user = u64_to_user_ptr(req->deep_ptr);
	void *list;
	long ret = 0;

	if (!req->deep_size)
		return 0;
	list = memdup_user(user, req->deep_size);
	if (IS_ERR(list))
		return PTR_ERR(list);
	vgpu_report_fb_list(req->abi, list, req->deep_size, req->deep_size / item->size,
			    ledger->max, ledger->cur);
	if (copy_to_user(user, list, req->deep_size))
		ret = -EFAULT;
	kfree(list);
	return ret;
}

static long vgpu_report_processes(struct vgpu_call *call, void *inner, u32 slice)
{
	const struct vgpu_rm_req *req = &call->req;
	struct vgpu_processes found;
	int ret;

	ret = vgpu_find_processes(call, slice, &found);
	if (ret)
		return ret;
	if (req->control == VGPU_CONTROL_PIDS)
		vgpu_report_pids(req, inner, req->ptr_size, found.views, found.nr);
	else
		vgpu_report_pid_info(req, inner, req->ptr_size, found.views, found.nr);
	kvfree(found.views);
	return 0;
}

/* Rewrites @inner, the driver's answer. */
static long vgpu_report_rewrite(struct vgpu_call *call, void *inner)
{
	const struct vgpu_rm_req *req = &call->req;
	const struct vgpu_gpu_view *views;
	struct vgpu_ledger ledger;
	u32 slice;

	switch (req->control) {
	case VGPU_CONTROL_ATTACHED_IDS:
	case VGPU_CONTROL_PROBED_IDS:
		views = vgpu_ask_views(call);
		if (!views)
			return -EIO;
		vgpu_report_ids(req, inner, req->ptr_size, views, call->tenant->nr_slices);
		return 0;
	case VGPU_CONTROL_FB_INFO:
	case VGPU_CONTROL_FB_INFO_V2:
	case VGPU_CONTROL_PIDS:
	case VGPU_CONTROL_PID_INFO:
		break;
	default:
		return 0;
	}

	/*
	 * The driver knows an object that is in no book only of a client that is not ours to know.
	 */
	if (!vgpu_report_ledger(call, req->object, &ledger, &slice))
		return -EIO;
	if (req->control == VGPU_CONTROL_FB_INFO)
		return vgpu_report_fb_deep(call, &ledger);
	if (req->control == VGPU_CONTROL_FB_INFO_V2) {
		vgpu_report_fb_info_v2(req, inner, req->ptr_size, ledger.max, ledger.cur);
		return 0;
	}
	return vgpu_report_processes(call, inner, slice);
}

/* Ids that a request names must be granted; "all" becomes those that are. */
static long vgpu_report_check_ids(struct vgpu_call *call, void *buf, u32 size, void __user *user,
				  bool *granted)
{
	const struct vgpu_gpu_view *views = vgpu_ask_views(call);

	if (!views)
		return -EIO;
	*granted = vgpu_report_ids_granted(&call->req, buf, size, views, call->tenant->nr_slices);
	if (!*granted)
		return 0;
	return copy_to_user(user, buf, size) ? -EFAULT : 0;
}

static long vgpu_report_forward(struct vgpu_call *call, void *inner)
{
	const struct vgpu_rm_req *req = &call->req;
	void __user *user = u64_to_user_ptr(req->ptr);
	struct vgpu_rm_result result;
	long ret;

	ret = vgpu_call_forward(call);
	if (ret)
		return ret;
	if (copy_from_user(call->outer, call->arg, call->len) ||
	    copy_from_user(inner, user, req->ptr_size))
		return -EFAULT;
	vgpu_rm_reply(req, call->outer, call->len, inner, req->ptr_size, &result);
	if (result.status != VGPU_NV_OK)
		return 0;
	ret = vgpu_report_rewrite(call, inner);
	if (ret)
		return ret;
	return copy_to_user(user, inner, req->ptr_size) ? -EFAULT : 0;
}

long vgpu_report_control(struct vgpu_call *call)
{
	struct vgpu_rm_req *req = &call->req;
	void __user *user = u64_to_user_ptr(req->ptr);
	bool granted = true;
	void *inner;
	long ret = 0;

	inner = kvmalloc(req->ptr_size, GFP_KERNEL_ACCOUNT);
	if (!inner)
		return -ENOMEM;
	if (copy_from_user(inner, user, req->ptr_size)) {
		ret = -EFAULT;
		goto free;
	}
	vgpu_rm_decode_inner(req, inner, req->ptr_size);
	if (req->verdict != VGPU_RM_FORWARD) {
		ret = vgpu_call_refuse(call);
		goto free;
	}
	if (req->control == VGPU_CONTROL_ATTACH_IDS || req->control == VGPU_CONTROL_ID_INFO)
		ret = vgpu_report_check_ids(call, inner, req->ptr_size, user, &granted);
	if (!ret)
		ret = granted ? vgpu_report_forward(call, inner) :
				vgpu_call_answer(call, VGPU_NV_ERR_INVALID_ARGUMENT);
free:
	kvfree(inner);
	return ret;
}

long vgpu_report_card_info(struct vgpu_call *call)
{
	const struct vgpu_gpu_view *views = vgpu_ask_views(call);
	long ret;

	if (!views)
		return -EIO;
	ret = vgpu_call_forward(call);
	if (ret)
		return ret;
	if (copy_from_user(call->outer, call->arg, call->len))
		return -EFAULT;
	vgpu_report_cards(call->req.abi, call->outer, call->len, views, call->tenant->nr_slices);
	return copy_to_user(call->arg, call->outer, call->len) ? -EFAULT : 0;
}

long vgpu_report_attach(struct vgpu_call *call)
{
	bool granted;
	long ret;

	ret = vgpu_report_check_ids(call, call->outer, call->len, call->arg, &granted);
	if (ret)
		return ret;
	return granted ? vgpu_call_forward(call) : -EINVAL;
}

long vgpu_report_heap(struct vgpu_call *call)
{
	struct vgpu_rm_result result;
	struct vgpu_ledger ledger;
	u32 slice;
	long ret;

	ret = vgpu_call_forward(call);
	if (ret)
		return ret;
	if (copy_from_user(call->outer, call->arg, call->len))
		return -EFAULT;
	vgpu_rm_reply(&call->req, call->outer, call->len, NULL, 0, &result);
	if (result.status != VGPU_NV_OK)
		return 0;
	if (!vgpu_report_ledger(call, call->req.parent, &ledger, &slice))
		return -EIO;
	vgpu_report_heap_info(&call->req, call->outer, call->len, ledger.max, ledger.cur);
	return copy_to_user(call->arg, call->outer, call->len) ? -EFAULT : 0;
}
