// SPDX-License-Identifier: GPL-2.0-only
/* RM_ALLOC, RM_FREE, RM_DUP_OBJECT, RM_SHARE: handles come, go and are handed on. */
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "escape.h"
#include "object.h"

static u32 nvsim_take_implicit(struct nvsim_object *obj)
{
	u64 bytes = 0;

	if (obj->ops->takes == NVSIM_TAKES_CHANNEL)
		bytes = nvsim_config.channel_bytes;
	else if (obj->ops->takes == NVSIM_TAKES_CONTEXT)
		bytes = nvsim_config.context_bytes;
	if (!bytes)
		return NV_OK;
	return nvsim_mem_create(obj->client, obj->gpu, NVSIM_MEM_DEVICE, obj->class, bytes,
				&obj->implicit);
}

/*
 * Keeps chains of dependants short (nvsim_object_free() recurses along them): what others hang on
 * may itself need spaces, context shares and memory only, and nothing needs a leaf.
 */
static bool nvsim_may_need(const struct nvsim_object *obj, const struct nvsim_object *on)
{
	if (on->class == FERMI_VASPACE_A || nvsim_class_is_memory(on->class))
		return true;
	if (on->class == FERMI_CONTEXT_SHARE_A)
		return obj->class == AMPERE_CHANNEL_GPFIFO_A;
	return !nvsim_class_as_parent(obj->class) && nvsim_class_as_parent(on->class);
}

static u32 nvsim_add_needs(struct nvsim_object *obj, const u32 *params)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(obj->ops->needs) && obj->ops->needs[i]; i++) {
		u32 handle = params[obj->ops->needs[i] - 1];
		struct nvsim_object *on;
		u32 status;

		if (!handle)
			continue;
		on = nvsim_object_find(obj->client, handle);
		if (!on || !nvsim_may_need(obj, on))
			return NV_ERR_INVALID_OBJECT_HANDLE;
		status = nvsim_object_depend(obj, on);
		if (status != NV_OK)
			return status;
	}
	return NV_OK;
}

static u32 nvsim_alloc_locked(struct nvsim_file *file, struct nvsim_new *new,
			      const struct nvsim_class *class)
{
	struct nvsim_client *client = nvsim_client_of(file, new->client);
	struct nvsim_object *parent, *obj;
	struct nvsim_alloc a = { .file = file, .params = new->params };
	u32 status;

	if (!client)
		return NV_ERR_INVALID_CLIENT;
	/* 535 alloc_free.c: no parent means the client. */
	parent = nvsim_object_find(client, new->parent ?: new->client);
	if (!parent || !(class->parents & nvsim_class_as_parent(parent->class)))
		return NV_ERR_INVALID_OBJECT_PARENT;

	obj = nvsim_object_new(client, parent, new->handle, class, &status);
	if (!obj)
		return status;
	status = nvsim_add_needs(obj, new->params);
	if (status == NV_OK)
		status = nvsim_take_implicit(obj);
	if (status == NV_OK && class->alloc) {
		a.obj = obj;
		a.params_size = class->params_size;
		status = class->alloc(&a);
	}
	if (status != NV_OK) {
		nvsim_object_drop(obj);
		return status;
	}
	new->handle = obj->handle;
	return NV_OK;
}

u32 nvsim_rm_alloc(struct nvsim_file *file, struct nvsim_new *new)
{
	const struct nvsim_class *class = nvsim_class_find(new->class);
	u32 status;

	if (!class || !class->parents)
		return NV_ERR_INVALID_CLASS;
	mutex_lock(&nvsim_rm_lock);
	status = nvsim_alloc_locked(file, new, class);
	mutex_unlock(&nvsim_rm_lock);
	return status;
}

static u32 nvsim_alloc_client(struct nvsim_file *file, u32 *handle)
{
	struct nvsim_client *client;
	u32 status;

	mutex_lock(&nvsim_rm_lock);
	client = nvsim_client_new(file, *handle, nvsim_class_find(NV01_ROOT_CLIENT), &status);
	if (client) {
		*handle = client->handle;
		status = NV_OK;
	}
	mutex_unlock(&nvsim_rm_lock);
	return status;
}

static u32 nvsim_alloc_user(struct nvsim_file *file, struct nvsim_new *new, u64 user_params,
			    u32 params_size)
{
	const struct nvsim_class *class = nvsim_class_find(new->class);
	void __user *user = u64_to_user_ptr(user_params);
	u32 status;

	if (!class)
		return NV_ERR_INVALID_CLASS;
	/* 535 alloc_free.c: clients pass 0 and RM knows the size; another size is refused. */
	if (params_size && params_size != class->params_size)
		return NV_ERR_INVALID_PARAM_STRUCT;
	if (!user && class->params_required)
		return NV_ERR_INVALID_ARGUMENT;

	new->params = kzalloc(max_t(size_t, class->params_size, 1), GFP_KERNEL_ACCOUNT);
	if (!new->params)
		return NV_ERR_NO_MEMORY;
	if (user && copy_from_user(new->params, user, class->params_size)) {
		status = NV_ERR_INVALID_ADDRESS;
		goto out;
	}
	status = nvsim_rm_alloc(file, new);
	if (status == NV_OK && user && copy_to_user(user, new->params, class->params_size))
		status = NV_ERR_INVALID_ADDRESS;
out:
	kfree(new->params);
	return status;
}

int nvsim_esc_alloc(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos21 *p = arg;		/* NVOS64 begins with the same words */
	struct nvos64 *p64 = arg;
	struct nvsim_new new;
	u32 status;

	if (size != sizeof(struct nvos21) && size != sizeof(struct nvos64))
		return -EINVAL;
	/* 535 escape.c: only events may be allocated through a GPU file. */
	if (file->gpu && p->hClass != NV01_EVENT_OS_EVENT)
		return -EINVAL;

	if (nvsim_class_is_root(p->hClass)) {
		p->hClass = NV01_ROOT_CLIENT;
		status = nvsim_alloc_client(file, &p->hObjectNew);
	} else {
		new = (struct nvsim_new) {
			.client = p->hRoot,
			.parent = p->hObjectParent,
			.handle = p->hObjectNew,
			.class = p->hClass,
		};
		status = nvsim_alloc_user(file, &new, p->pAllocParms,
					  size == sizeof(*p) ? p->paramsSize : p64->paramsSize);
		if (status == NV_OK)
			p->hObjectNew = new.handle;
	}
	if (size == sizeof(*p))
		p->status = status;
	else
		p64->status = status;
	return 0;
}

u32 nvsim_rm_free(struct nvsim_file *file, u32 handle, u32 object)
{
	struct nvsim_client *client;
	struct nvsim_object *obj;
	u32 status = NV_OK;

	mutex_lock(&nvsim_rm_lock);
	client = nvsim_client_of(file, handle);
	if (!client) {
		status = NV_ERR_INVALID_CLIENT;
	} else if (object == client->handle) {
		nvsim_client_free(client);
	} else {
		/* 535 rs_server.c: freeing what is not there is fine (RS_COMPATABILITY_MODE). */
		obj = nvsim_object_find(client, object);
		if (obj)
			nvsim_object_free(obj);
	}
	mutex_unlock(&nvsim_rm_lock);
	return status;
}

int nvsim_esc_free(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos00 *p = arg;

	p->status = nvsim_rm_free(file, p->hRoot, p->hObjectOld);
	return 0;
}

/* 535 sharing.c: the same process always may; others as a policy of the object or client says. */
static bool nvsim_may_dup(const struct nvsim_object *source, const struct nvsim_client *client)
{
	const struct nvsim_client *owner = source->client;
	u32 shared = source->shared | owner->shared;

	if (owner->pid == client->pid || shared & BIT(RS_SHARE_TYPE_ALL))
		return true;
	if (shared & BIT(RS_SHARE_TYPE_OS_SECURITY_TOKEN) && uid_eq(owner->euid, client->euid))
		return true;
	if (source->shared & BIT(RS_SHARE_TYPE_CLIENT) && source->shared_with == client->handle)
		return true;
	return owner->shared & BIT(RS_SHARE_TYPE_CLIENT) && owner->shared_with == client->handle;
}

u32 nvsim_object_from_mem(struct nvsim_client *client, u32 parent_handle, u32 *handle, u32 class,
			  struct nvsim_mem *mem)
{
	struct nvsim_object *parent = nvsim_object_find(client, parent_handle);
	struct nvsim_object *obj;
	u32 status;

	if (!parent || !(nvsim_class_as_parent(parent->class) &
			 (NVSIM_UNDER_DEVICE | NVSIM_UNDER_SUBDEVICE)))
		return NV_ERR_INVALID_OBJECT_PARENT;
	obj = nvsim_object_new(client, parent, *handle, nvsim_class_find(class), &status);
	if (!obj)
		return status;
	nvsim_mem_get(mem);
	obj->mem = mem;
	*handle = obj->handle;
	return NV_OK;
}

static u32 nvsim_dup_locked(struct nvsim_file *file, struct nvos55 *p)
{
	struct nvsim_client *client = nvsim_client_of(file, p->hClient);
	struct nvsim_object *source;

	if (!client)
		return NV_ERR_INVALID_CLIENT;
	if (!nvsim_client_find(p->hClientSrc))
		return NV_ERR_INVALID_CLIENT;
	source = nvsim_object_lookup(p->hClientSrc, p->hObjectSrc);
	if (!source)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!nvsim_may_dup(source, client))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	/* Only memory is shared between clients here; RM can copy some other classes too. */
	if (!nvsim_class_is_memory(source->class))
		return NV_ERR_NOT_SUPPORTED;
	return nvsim_object_from_mem(client, p->hParent, &p->hObject, source->class, source->mem);
}

int nvsim_esc_dup(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos55 *p = arg;

	mutex_lock(&nvsim_rm_lock);
	p->status = nvsim_dup_locked(file, p);
	mutex_unlock(&nvsim_rm_lock);
	return 0;
}

u32 nvsim_share_set(u32 *shared, u32 *shared_with, const struct rs_share_policy *policy)
{
	if (policy->type < RS_SHARE_TYPE_ALL || policy->type > RS_SHARE_TYPE_PID)
		return NV_ERR_NOT_SUPPORTED;
	if (policy->action & RS_SHARE_ACTION_FLAG_REVOKE) {
		*shared &= ~BIT(policy->type);
		return NV_OK;
	}
	*shared |= BIT(policy->type);
	if (policy->type == RS_SHARE_TYPE_CLIENT)
		*shared_with = policy->target;
	return NV_OK;
}

int nvsim_esc_share(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos57 *p = arg;
	struct nvsim_client *client;
	struct nvsim_object *obj;

	mutex_lock(&nvsim_rm_lock);
	client = nvsim_client_of(file, p->hClient);
	obj = client ? nvsim_object_find(client, p->hObject) : NULL;
	if (!client)
		p->status = NV_ERR_INVALID_CLIENT;
	else if (!obj)
		p->status = NV_ERR_OBJECT_NOT_FOUND;
	else
		p->status = nvsim_share_set(&obj->shared, &obj->shared_with, &p->sharePolicy);
	mutex_unlock(&nvsim_rm_lock);
	return 0;
}
