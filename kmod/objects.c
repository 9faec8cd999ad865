// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that make or free RM objects: charge, forward, settle.
 *
 * They are forwarded with sealed arguments, so what is charged is what the driver reads. Its answer
 * can be forged by another thread of a process that has one (seal.h). So, where the process is not
 * alone:
 *
 *  - a size in the answer only ever raises the charge;
 *  - an allocation that seems to have failed is freed, by the handle that we know, before its
 *    charge is given back: the driver is content to free what is not there;
 *  - a free is credited by the answer. To forge one, the driver must refuse to free an object that
 *    is in the book, and it refuses that only to a file that did not make the client, which we
 *    refuse ourselves.
 *
 * A process that takes the sealed mapping away during the call is killed and the file it used stays
 * shut: what the driver did then is not known, and lasts until the last copy of the file is closed.
 */

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "charge.h"
#include "frontend.h"
#include "netlink.h"
#include "node.h"
#include "tenant.h"

#define VGPU_CHANNEL_DEFAULT	(2ull << 20)	/* of a GPU that was not calibrated */
/*
 * Outside the range that the driver chooses from (535 rs_server.h), for requests that leave it the
 * choice.
 */
#define VGPU_HANDLE_BASE	0xbe000000u
#define VGPU_HANDLE_MASK	0x00ffffffu

/*
 * The book sees allocations and frees of a client in the driver's order. By client, since programs
 * use theirs from many threads and tenants must not wait for each other.
 */
static struct mutex vgpu_client_mutex[1 << 8];

void vgpu_objects_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(vgpu_client_mutex); i++)
		mutex_init(&vgpu_client_mutex[i]);
}

/**
 * struct vgpu_client_lock - the mutexes of a request
 * @first: taken first, the one at the lower address
 * @second: the other one of RM_DUP_OBJECT between two clients, or NULL
 */
struct vgpu_client_lock {
	struct mutex *first;	/* lower address */
	struct mutex *second;	/* or NULL */
};

static struct mutex *vgpu_client_mutex_of(const struct vgpu_tenant *tenant, u32 client)
{
	return &vgpu_client_mutex[hash_64(tenant->id << 32 | client, 8)];
}

static int vgpu_lock_clients(const struct vgpu_call *call, struct vgpu_client_lock *lock)
{
	lock->first = vgpu_client_mutex_of(call->tenant, call->req.client);
	lock->second = NULL;
	if (call->req.op == VGPU_RM_DUP)
		lock->second = vgpu_client_mutex_of(call->tenant, call->req.src_client);
	if (lock->second == lock->first)
		lock->second = NULL;
	if (lock->second && lock->second < lock->first)
		swap(lock->first, lock->second);

	if (mutex_lock_killable(lock->first))
		return -ERESTARTSYS;
	if (lock->second && mutex_lock_killable_nested(lock->second, SINGLE_DEPTH_NESTING)) {
		mutex_unlock(lock->first);
		return -ERESTARTSYS;
	}
	return 0;
}

static void vgpu_unlock_clients(struct vgpu_client_lock *lock)
{
	if (lock->second)
		mutex_unlock(lock->second);
	mutex_unlock(lock->first);
}

/**
 * struct vgpu_pending - an object that is being made
 * @seal: the arguments
 * @inner: offset of the inner one in them, 0: none of ours
 * @slice: of which it is
 * @charge: what it takes, or NULL
 * @object: its entry in the book, when it is not a client
 * @client: the same when it is
 */
struct vgpu_pending {
	struct vgpu_seal *seal;
	u32 inner;
	u32 slice;
	struct vgpu_charge *charge;
	struct vgpu_object *object;
	struct vgpu_client *client;
};

/* From here on the request is what is in the seal; it is decoded anew from there. */
static long vgpu_seal_request(struct vgpu_call *call, struct vgpu_pending *pending)
{
	struct vgpu_rm_req *req = &call->req;
	u32 at = ALIGN(call->len, 16);
	u32 size = req->ptr_size;
	struct vgpu_seal *seal;

	seal = vgpu_seal_open(vgpu_file_of(call->file), at + size);
	if (IS_ERR(seal))
		return PTR_ERR(seal);
	pending->seal = seal;
	memcpy(seal->mem, call->outer, call->len);
	if (!size)
		return 0;
	if (copy_from_user(seal->mem + at, u64_to_user_ptr(req->ptr), size))
		return -EFAULT;
	vgpu_rm_decode_inner(req, seal->mem + at, size);
	vgpu_rm_put(req->row, VGPU_F_PTR, 0, seal->mem, call->len, seal->addr + at);
	pending->inner = at;
	return 0;
}

/* The driver knows clients by the file that made them (535 client.c rmclientValidate); so do we. */
static bool vgpu_client_ok(const struct vgpu_call *call, u32 handle)
{
	struct vgpu_tenant *tenant = call->tenant;
	const struct vgpu_file *vf = NULL;
	const struct vgpu_client *client;
	bool ok;

	/* A GPU's file acts for the nvidiactl that it was registered with. */
	if (call->node->kind == VGPU_NODE_CTL)
		vf = vgpu_file_of(call->file);
	spin_lock(&tenant->lock);
	client = vgpu_book_client(&tenant->book, handle);
	ok = client && (!vf || client->owner == &vf->owner);
	spin_unlock(&tenant->lock);
	return ok;
}

static u32 vgpu_slice_of(const struct vgpu_call *call, u32 client, u32 handle)
{
	struct vgpu_tenant *tenant = call->tenant;
	const struct vgpu_object *obj;
	u32 slice = VGPU_NO_SLICE;

	spin_lock(&tenant->lock);
	obj = vgpu_book_find(&tenant->book, client, handle);
	if (obj)
		slice = obj->slice;
	spin_unlock(&tenant->lock);
	return slice;
}

static bool vgpu_object_known(const struct vgpu_call *call, u32 client, u32 handle)
{
	struct vgpu_tenant *tenant = call->tenant;
	bool known;

	spin_lock(&tenant->lock);
	known = vgpu_book_find(&tenant->book, client, handle);
	spin_unlock(&tenant->lock);
	return known;
}

/* The driver would choose, and its choice could be forged in the answer. */
static void vgpu_choose_handle(struct vgpu_call *call, struct vgpu_pending *pending)
{
	static atomic_t last;
	u32 handle;

	if (call->req.object || vgpu_call_alone())
		return;
	do {
		handle = VGPU_HANDLE_BASE | (atomic_inc_return(&last) & VGPU_HANDLE_MASK);
	} while (vgpu_object_known(call, call->req.client, handle));
	vgpu_rm_set_object(&call->req, pending->seal->mem, call->len, handle);
}

static u64 vgpu_implicit_bytes(const struct vgpu_call *call, u32 slice)
{
	struct vgpu_calibration calibration;
	char version[VGPU_VERSION_LEN];

	vgpu_backing_version(&call->node->drv, version);
	calibration = vgpu_calibration(call->tenant->slices[slice].uuid, version);
	if (call->req.takes == VGPU_TAKES_CHANNEL)
		return calibration.known ? calibration.channel_bytes : VGPU_CHANNEL_DEFAULT;
	return calibration.known ? calibration.context_bytes : vgpu_ask_context_bytes(call, slice);
}

/* 0, or the RM status to refuse with. */
static u32 vgpu_take(struct vgpu_call *call, struct vgpu_pending *pending)
{
	const struct vgpu_rm_req *req = &call->req;
	struct vgpu_tenant *tenant = call->tenant;
	u32 kind = VGPU_CHARGE_BUFFERS;
	u64 bytes = req->bytes;

	if (req->op == VGPU_RM_DUP) {
		/*
		 * What is not in the book is another tenant's, or nothing. Whether the source may
		 * be had is the driver's to say: its owner can have shared it with other processes.
		 */
		if (!vgpu_object_known(call, req->src_client, req->src_object))
			return VGPU_NV_ERR_INVALID_OBJECT_HANDLE;
		pending->charge = vgpu_charge_of(tenant, req->src_client, req->src_object);
		return VGPU_NV_OK;
	}
	if (req->takes == VGPU_TAKES_NOTHING)
		return VGPU_NV_OK;
	if (pending->slice == VGPU_NO_SLICE)
		return VGPU_NV_ERR_INVALID_OBJECT_HANDLE;
	if (req->takes != VGPU_TAKES_BUFFER) {
		kind = VGPU_CHARGE_CONTEXTS;
		bytes = vgpu_implicit_bytes(call, pending->slice);
	}
	if (vgpu_charge_new(tenant, pending->slice, kind, bytes, &pending->charge)) {
		vgpu_event(VGPU_NL_EVENT_REFUSED, tenant, &tenant->slices[pending->slice], bytes);
		return VGPU_NV_ERR_NO_MEMORY;
	}
	return VGPU_NV_OK;
}

/* Memory of the book's entry, before the forward: afterwards nothing may fail. */
static int vgpu_prepare(const struct vgpu_call *call, struct vgpu_pending *pending)
{
	const struct vgpu_rm_req *req = &call->req;
	struct vgpu_object *obj;
	u32 i;

	if (req->class_kind == VGPU_CLASS_CLIENT) {
		pending->client = kzalloc(sizeof(*pending->client), GFP_KERNEL_ACCOUNT);
		return pending->client ? 0 : -ENOMEM;
	}
	obj = kzalloc(sizeof(*obj) + req->nr_deps * sizeof(*obj->deps), GFP_KERNEL_ACCOUNT);
	if (!obj)
		return -ENOMEM;
	obj->deps = (struct vgpu_dep *)(obj + 1);
	obj->class = req->class;
	obj->slice = pending->slice;
	obj->nr_deps = req->nr_deps;
	for (i = 0; i < req->nr_deps; i++) {
		obj->deps[i].handle = req->deps[i];
		obj->deps[i].holds = !!(req->holds & BIT(i));
	}
	pending->object = obj;
	return 0;
}

static void vgpu_publish_client(struct vgpu_call *call, struct vgpu_pending *pending, u32 handle)
{
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_file *vf = vgpu_file_of(call->file);
	struct vgpu_object *gone;

	spin_lock(&tenant->lock);
	gone = vgpu_book_add_client(&tenant->book, pending->client, handle, &vf->owner,
				    get_pid(task_tgid(current)));
	spin_unlock(&tenant->lock);
	pending->client = NULL;
	vgpu_objects_free(tenant, gone);
}

static void vgpu_publish(struct vgpu_call *call, struct vgpu_pending *pending,
			 const struct vgpu_rm_result *result)
{
	const struct vgpu_rm_req *req = &call->req;
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_object *gone = NULL;
	u64 real = result->bytes;
	int ret;

	if (pending->client) {
		vgpu_publish_client(call, pending, result->object);
		return;
	}
	pending->object->handle = req->object ? req->object : result->object;
	vgpu_book_grow(tenant);
	spin_lock(&tenant->lock);
	if (pending->charge && req->takes == VGPU_TAKES_BUFFER) {
		if (!vgpu_call_alone())
			real = max(real, req->bytes);
		WARN_ON_ONCE(vgpu_charge_settle(pending->charge, real));
	}
	if (req->op == VGPU_RM_DUP) {
		const struct vgpu_object *src = vgpu_book_find(&tenant->book, req->src_client,
							       req->src_object);

		if (src) {
			pending->object->class = src->class;
			pending->object->slice = src->slice;
		}
	}
	ret = vgpu_book_insert(&tenant->book, pending->object, req->client, req->parent,
			       pending->charge, &gone);
	spin_unlock(&tenant->lock);
	/* The client's file was closed by another thread: so is the object gone. */
	if (!ret) {
		pending->object = NULL;
		pending->charge = NULL;
	}
	vgpu_objects_free(tenant, gone);
}

static long vgpu_copy_out(const struct vgpu_call *call, const struct vgpu_pending *pending)
{
	const struct vgpu_rm_req *req = &call->req;
	const struct vgpu_seal *seal = pending->seal;

	if (pending->inner) {
		vgpu_rm_put(req->row, VGPU_F_PTR, 0, seal->mem, call->len, req->ptr);
		if (copy_to_user(u64_to_user_ptr(req->ptr), seal->mem + pending->inner,
				 req->ptr_size))
			return -EFAULT;
	}
	return copy_to_user(call->arg, seal->mem, call->len) ? -EFAULT : 0;
}

static long vgpu_alloc_forward(struct vgpu_call *call, struct vgpu_pending *pending)
{
	const struct vgpu_rm_req *req = &call->req;
	struct vgpu_seal *seal = pending->seal;
	struct vgpu_rm_result result;
	bool used;
	long ret;

	vgpu_choose_handle(call, pending);
	used = req->object && vgpu_object_known(call, req->client, req->object);
	ret = vgpu_backing_ioctl(&call->node->drv, call->file, call->cmd, seal->addr);
	if (vgpu_seal_broken(seal)) {
		vgpu_file_punish(vgpu_file_of(call->file));
		return -EFAULT;
	}
	vgpu_rm_reply(req, seal->mem, call->len, pending->inner ? seal->mem + pending->inner : NULL,
		      req->ptr_size, &result);
	if (!ret && result.status == VGPU_NV_OK)
		vgpu_publish(call, pending, &result);
	else if (pending->charge && req->object && !used && !vgpu_call_alone())
		vgpu_ask_free(call, req->client, req->parent, req->object);
	return ret ? ret : vgpu_copy_out(call, pending);
}

static long vgpu_alloc_locked(struct vgpu_call *call, struct vgpu_pending *pending)
{
	struct vgpu_rm_req *req = &call->req;
	u32 status;
	long ret;

	ret = vgpu_seal_request(call, pending);
	if (ret)
		return ret;
	if (req->verdict != VGPU_RM_FORWARD)
		return vgpu_call_refuse(call);

	if (req->class_kind != VGPU_CLASS_CLIENT && !vgpu_client_ok(call, req->client))
		return vgpu_call_answer(call, VGPU_NV_ERR_INVALID_CLIENT);
	if (req->class_kind == VGPU_CLASS_DEVICE)
		pending->slice = vgpu_ask_slice(call, req->device_instance);
	else if (req->class_kind != VGPU_CLASS_CLIENT)
		pending->slice = vgpu_slice_of(call, req->client, req->parent);
	if (req->class_kind == VGPU_CLASS_DEVICE && pending->slice == VGPU_NO_SLICE)
		return vgpu_call_answer(call, VGPU_NV_ERR_INVALID_DEVICE);

	status = vgpu_take(call, pending);
	if (status != VGPU_NV_OK)
		return vgpu_call_answer(call, status);
	ret = vgpu_prepare(call, pending);
	if (ret)
		return ret;
	return vgpu_alloc_forward(call, pending);
}

long vgpu_call_alloc(struct vgpu_call *call)
{
	struct vgpu_pending pending = { .slice = VGPU_NO_SLICE };
	struct vgpu_client_lock lock;
	long ret;

	if (READ_ONCE(vgpu_file_of(call->file)->shut))
		return -EIO;
	ret = vgpu_lock_clients(call, &lock);
	if (ret)
		return ret;
	ret = vgpu_alloc_locked(call, &pending);
	vgpu_unlock_clients(&lock);

	if (pending.seal)
		vgpu_seal_close(vgpu_file_of(call->file), pending.seal);
	vgpu_charge_drop(call->tenant, pending.charge);
	kfree(pending.object);
	kfree(pending.client);
	return ret;
}

static long vgpu_free_locked(struct vgpu_call *call, struct vgpu_pending *pending)
{
	const struct vgpu_rm_req *req = &call->req;
	struct vgpu_tenant *tenant = call->tenant;
	struct vgpu_object *gone = NULL;
	struct vgpu_rm_result result;
	long ret;

	ret = vgpu_seal_request(call, pending);
	if (ret)
		return ret;
	if (!vgpu_client_ok(call, req->client))
		return vgpu_call_answer(call, VGPU_NV_ERR_INVALID_CLIENT);
	ret = vgpu_backing_ioctl(&call->node->drv, call->file, call->cmd, pending->seal->addr);
	if (vgpu_seal_broken(pending->seal)) {
		vgpu_file_punish(vgpu_file_of(call->file));
		return -EFAULT;
	}
	vgpu_rm_reply(req, pending->seal->mem, call->len, NULL, 0, &result);
	if (!ret && result.status == VGPU_NV_OK) {
		spin_lock(&tenant->lock);
		gone = vgpu_book_remove(&tenant->book, req->client, req->object);
		spin_unlock(&tenant->lock);
		vgpu_objects_free(tenant, gone);
	}
	return ret ? ret : vgpu_copy_out(call, pending);
}

long vgpu_call_free(struct vgpu_call *call)
{
	struct vgpu_pending pending = {};
	struct vgpu_client_lock lock;
	long ret;

	ret = vgpu_lock_clients(call, &lock);
	if (ret)
		return ret;
	ret = vgpu_free_locked(call, &pending);
	vgpu_unlock_clients(&lock);
	if (pending.seal)
		vgpu_seal_close(vgpu_file_of(call->file), pending.seal);
	return ret;
}

void vgpu_clients_drop(struct vgpu_file *vf)
{
	struct vgpu_tenant *tenant = vf->node->tenant;
	struct vgpu_object *gone;

	spin_lock(&tenant->lock);
	gone = vgpu_book_drop_owner(&tenant->book, &vf->owner);
	spin_unlock(&tenant->lock);
	vgpu_objects_free(tenant, gone);
}
