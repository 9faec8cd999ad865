// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions of ours to the driver, asked on the caller's nvidiactl in the caller's context with
 * sealed arguments. An answer can be forged by another thread of the caller (seal.h); what each of
 * them is good for is said where it is used.
 */

#include <linux/mm.h>
#include <linux/slab.h>

#include "charge.h"
#include "frontend.h"
#include "node.h"
#include "tenant.h"

/*
 * Until a GPU was calibrated and when the driver cannot be asked: more than any published GPU
 * takes.
 */
#define VGPU_CONTEXT_DEFAULT	(128ull << 20)
#define VGPU_NO_GPU		0xffffffffu
#define VGPU_CARDS		64	/* GPUs in CARD_INFO; the driver knows 32 (nv-limits.h) */

static const struct vgpu_rm_row *vgpu_find_row(const struct vgpu_rm_table *table, u32 what)
{
	u32 i;

	for (i = 0; i < table->nr; i++)
		if (table->rows[i].what == what)
			return &table->rows[i];
	return NULL;
}

static long vgpu_ask(const struct vgpu_call *call, const struct vgpu_rm_row *row,
		     const struct vgpu_seal *seal, u32 size)
{
	unsigned int cmd = _IOC(_IOC_READ | _IOC_WRITE, 'F', row->nr, size);
	long ret = vgpu_backing_ioctl(&call->node->drv, call->file, cmd, seal->addr);

	return vgpu_seal_broken(seal) ? -EFAULT : ret;
}

long vgpu_ask_control(const struct vgpu_call *call, u32 client, u32 object, u32 cmd, void *params,
		      u32 size)
{
	const struct vgpu_rm_row *row = vgpu_find_row(call->req.abi->escapes, VGPU_RM_CONTROL);
	u32 at = ALIGN(row->size, sizeof(u64));
	struct vgpu_seal *seal;
	u64 status = 0;
	long ret;

	seal = vgpu_seal_open(vgpu_file_of(call->file), at + size);
	if (IS_ERR(seal))
		return PTR_ERR(seal);
	vgpu_rm_put(row, VGPU_F_CLIENT, 0, seal->mem, row->size, client);
	vgpu_rm_put(row, VGPU_F_OBJECT, 0, seal->mem, row->size, object);
	vgpu_rm_put(row, VGPU_F_CMD, 0, seal->mem, row->size, cmd);
	vgpu_rm_put(row, VGPU_F_PTR, 0, seal->mem, row->size, seal->addr + at);
	vgpu_rm_put(row, VGPU_F_PTR_SIZE, 0, seal->mem, row->size, size);
	memcpy(seal->mem + at, params, size);
	ret = vgpu_ask(call, row, seal, row->size);
	if (!ret) {
		memcpy(params, seal->mem + at, size);
		vgpu_rm_get(row, VGPU_F_STATUS, 0, seal->mem, row->size, &status);
	}
	vgpu_seal_close(vgpu_file_of(call->file), seal);
	return ret ? ret : status ? -EIO : 0;
}

/* The driver says OK also when there was nothing to free. */
void vgpu_ask_free(const struct vgpu_call *call, u32 client, u32 parent, u32 object)
{
	const struct vgpu_rm_row *row = vgpu_find_row(call->req.abi->escapes, VGPU_RM_FREE);
	struct vgpu_seal *seal = vgpu_seal_open(vgpu_file_of(call->file), row->size);

	if (IS_ERR(seal))
		return;
	vgpu_rm_put(row, VGPU_F_CLIENT, 0, seal->mem, row->size, client);
	vgpu_rm_put(row, VGPU_F_PARENT, 0, seal->mem, row->size, parent);
	vgpu_rm_put(row, VGPU_F_OBJECT, 0, seal->mem, row->size, object);
	vgpu_ask(call, row, seal, row->size);
	vgpu_seal_close(vgpu_file_of(call->file), seal);
}

static u32 vgpu_find_subdevice(const struct vgpu_call *call, u32 slice)
{
	struct vgpu_tenant *tenant = call->tenant;
	const struct vgpu_object *obj;
	struct vgpu_client *client;
	u32 handle = 0;

	spin_lock(&tenant->lock);
	client = vgpu_book_client(&tenant->book, call->req.client);
	for (obj = client ? &client->root : NULL; obj; obj = vgpu_object_next(obj)) {
		const struct vgpu_rm_row *row = vgpu_rm_row(call->req.abi->classes, obj->class);

		if (obj->slice == slice && row && row->what == VGPU_CLASS_SUBDEVICE) {
			handle = obj->handle;
			break;
		}
	}
	spin_unlock(&tenant->lock);
	return handle;
}

/*
 * What a context on the channel call->req.parent takes, for a GPU that was not calibrated. Kept
 * once it was told to a process of one thread, which cannot have forged it.
 */
u64 vgpu_ask_context_bytes(const struct vgpu_call *call, u32 slice)
{
	const struct vgpu_rm_row *row = vgpu_find_row(call->req.abi->controls,
						      VGPU_CONTROL_CTX_BUFFERS);
	struct vgpu_slice *s = &call->tenant->slices[slice];
	u64 params[4] = {}, bytes = READ_ONCE(s->context_bytes);
	u32 subdevice;

	if (bytes)
		return bytes;
	subdevice = vgpu_find_subdevice(call, slice);
	if (!row || row->size > sizeof(params) || !subdevice)
		return VGPU_CONTEXT_DEFAULT;
	vgpu_rm_put(row, VGPU_F_OBJECT, 0, params, row->size, call->req.parent);
	if (vgpu_ask_control(call, call->req.client, subdevice, row->nr, params, row->size) ||
	    !vgpu_rm_get(row, VGPU_F_SIZE, 0, params, row->size, &bytes) || !bytes)
		return VGPU_CONTEXT_DEFAULT;
	if (!vgpu_call_alone())
		return max(bytes, VGPU_CONTEXT_DEFAULT);
	WRITE_ONCE(s->context_bytes, bytes);
	return bytes;
}

static void vgpu_fill_views(const struct vgpu_call *call, const void *cards, u32 len,
			    struct vgpu_gpu_view *views)
{
	char reason[VGPU_REASON_LEN] = "";
	u32 i;

	for (i = 0; i < call->tenant->nr_slices; i++) {
		int minor = vgpu_backing_minor(&call->tenant->slices[i], reason);

		views[i].minor = i;
		views[i].host_minor = minor;
		/* A GPU that is gone is in no list. */
		if (minor < 0 || !vgpu_report_card_id(call->req.abi, cards, len, minor,
						      &views[i].gpu_id))
			views[i].gpu_id = VGPU_NO_GPU;
	}
}

/*
 * Only what the tenant is told hangs on it: the driver lets it use no GPU whose node it cannot
 * open.
 */
const struct vgpu_gpu_view *vgpu_ask_views(const struct vgpu_call *call)
{
	const struct vgpu_rm_row *row = vgpu_find_row(call->req.abi->escapes, VGPU_RM_CARD_INFO);
	const struct vgpu_rm_row *item = vgpu_rm_item(call->req.abi, VGPU_ITEM_CARD);
	struct vgpu_file *vf = vgpu_file_of(call->file);
	struct vgpu_tenant *tenant = call->tenant;
	u32 len = item->size * VGPU_CARDS;
	struct vgpu_gpu_view *views;
	struct vgpu_seal *seal;
	bool failed;

	/* Pairs with the cmpxchg below: what is published is filled. */
	if (smp_load_acquire(&vf->views))
		return vf->views;
	views = kcalloc(tenant->nr_slices, sizeof(*views), GFP_KERNEL_ACCOUNT);
	if (!views)
		return NULL;
	seal = vgpu_seal_open(vf, len);
	if (IS_ERR(seal)) {
		kfree(views);
		return NULL;
	}
	failed = vgpu_ask(call, row, seal, len);
	if (!failed)
		vgpu_fill_views(call, seal->mem, len, views);
	vgpu_seal_close(vf, seal);
	if (failed) {
		kfree(views);
		return NULL;
	}
	/* Another thread may have asked at the same time. */
	if (cmpxchg(&vf->views, NULL, views))
		kfree(views);
	return vf->views;
}

/*
 * With one slice any device is of it: the driver makes none for a GPU of which the process has no
 * open file (535 nv_is_gpu_accessible), and there is one node.
 */
u32 vgpu_ask_slice(const struct vgpu_call *call, u32 instance)
{
	const struct vgpu_rm_row *row = vgpu_find_row(call->req.abi->controls,
						      VGPU_CONTROL_ID_INFO);
	const struct vgpu_gpu_view *views;
	u64 params[8], found;
	u32 i;

	if (call->tenant->nr_slices == 1)
		return 0;
	views = vgpu_ask_views(call);
	if (!views || !row || row->size > sizeof(params))
		return VGPU_NO_SLICE;
	for (i = 0; i < call->tenant->nr_slices; i++) {
		memset(params, 0, sizeof(params));
		vgpu_rm_put(row, VGPU_F_GPU_ID, 0, params, row->size, views[i].gpu_id);
		if (vgpu_ask_control(call, call->req.client, call->req.client, row->nr, params,
				     row->size))
			continue;
		if (vgpu_rm_get(row, VGPU_F_INSTANCE, 0, params, row->size, &found) &&
		    found == instance)
			return i;
	}
	return VGPU_NO_SLICE;
}
