// SPDX-License-Identifier: GPL-2.0-only
/* Clients and their trees of objects. */
#include <linux/cred.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "escape.h"
#include "object.h"

/* Handles that the driver chooses: clients as 535 numbers them, objects apart from users'. */
#define NVSIM_CLIENT_FIRST	0xc1d00001U
#define NVSIM_CLIENT_LAST	0xc1dfffffU
#define NVSIM_OBJECT_FIRST	0xcaf00001U
#define NVSIM_OBJECT_LAST	0xcaffffffU

/* One object that must be freed before another. */
struct nvsim_dep {
	struct nvsim_object *by;
	struct list_head in_uses;
	struct list_head in_used_by;
};

/* See nvsim.h. */
DEFINE_MUTEX(nvsim_rm_lock);
DEFINE_XARRAY_ALLOC(nvsim_clients);
static u32 nvsim_client_next = NVSIM_CLIENT_FIRST;

struct nvsim_client *nvsim_client_find(u32 client)
{
	lockdep_assert_held(&nvsim_rm_lock);
	return xa_load(&nvsim_clients, client);
}

struct nvsim_object *nvsim_object_find(struct nvsim_client *client, u32 handle)
{
	lockdep_assert_held(&nvsim_rm_lock);
	return xa_load(&client->objects, handle);
}

struct nvsim_object *nvsim_object_lookup(u32 handle, u32 object)
{
	struct nvsim_client *client = nvsim_client_find(handle);

	return client ? nvsim_object_find(client, object) : NULL;
}

struct nvsim_object *nvsim_object_above(struct nvsim_object *obj, u32 class)
{
	while (obj && obj->class != class)
		obj = obj->parent;
	return obj;
}

u32 nvsim_object_depend(struct nvsim_object *obj, struct nvsim_object *on)
{
	struct nvsim_dep *dep = kmalloc(sizeof(*dep), GFP_KERNEL_ACCOUNT);

	if (!dep)
		return NV_ERR_NO_MEMORY;
	dep->by = obj;
	list_add(&dep->in_uses, &obj->uses);
	list_add(&dep->in_used_by, &on->used_by);
	return NV_OK;
}

static void nvsim_dep_free(struct nvsim_dep *dep)
{
	list_del(&dep->in_uses);
	list_del(&dep->in_used_by);
	kfree(dep);
}

struct nvsim_object *nvsim_object_new(struct nvsim_client *client, struct nvsim_object *parent,
				      u32 handle, const struct nvsim_class *class, u32 *status)
{
	struct nvsim_object *obj;
	int err;

	obj = kzalloc(sizeof(*obj), GFP_KERNEL_ACCOUNT);
	if (!obj) {
		*status = NV_ERR_NO_MEMORY;
		return NULL;
	}
	obj->class = class->id;
	obj->ops = class;
	obj->client = client;
	obj->parent = parent;
	INIT_LIST_HEAD(&obj->sibling);
	INIT_LIST_HEAD(&obj->children);
	INIT_LIST_HEAD(&obj->uses);
	INIT_LIST_HEAD(&obj->used_by);

	if (handle) {
		obj->handle = handle;
		err = xa_insert(&client->objects, handle, obj, GFP_KERNEL_ACCOUNT);
	} else {
		err = xa_alloc_cyclic(&client->objects, &obj->handle, obj,
				      XA_LIMIT(NVSIM_OBJECT_FIRST, NVSIM_OBJECT_LAST),
				      &client->next_handle, GFP_KERNEL_ACCOUNT);
		if (err == 1)
			err = 0;
	}
	if (err) {
		*status = err == -EBUSY && handle ? NV_ERR_INSERT_DUPLICATE_NAME : NV_ERR_NO_MEMORY;
		kfree(obj);
		return NULL;
	}
	if (parent) {
		obj->gpu = parent->gpu;
		list_add(&obj->sibling, &parent->children);
	}
	return obj;
}

void nvsim_object_drop(struct nvsim_object *obj)
{
	struct nvsim_dep *dep, *next;

	list_for_each_entry_safe(dep, next, &obj->uses, in_uses)
		nvsim_dep_free(dep);
	if (obj->mem)
		nvsim_mem_put(obj->mem);
	if (obj->implicit)
		nvsim_mem_put(obj->implicit);
	list_del(&obj->sibling);
	xa_erase(&obj->client->objects, obj->handle);
	kfree(obj);
}

/*
 * The recursion is bounded: nvsim_class.parents lets nothing hang below a leaf, and what depends
 * on another object depends on one of another level.
 */
void nvsim_object_free(struct nvsim_object *obj)
{
	struct nvsim_object *child;
	struct nvsim_dep *dep;

	lockdep_assert_held(&nvsim_rm_lock);

	while ((dep = list_first_entry_or_null(&obj->used_by, struct nvsim_dep, in_used_by)))
		nvsim_object_free(dep->by);
	while ((child = list_first_entry_or_null(&obj->children, struct nvsim_object, sibling)))
		nvsim_object_free(child);
	if (obj->ops->free)
		obj->ops->free(obj);
	nvsim_object_drop(obj);
}

/* F5, 535 client.c rmclientValidate: the file that made a client, or a file registered to that. */
static struct nvsim_file *nvsim_speaks_as(struct nvsim_file *file)
{
	return file->ctl ? nvsim_file(file->ctl) : file;
}

struct nvsim_client *nvsim_client_of(struct nvsim_file *file, u32 handle)
{
	struct nvsim_client *client = nvsim_client_find(handle);

	return client && client->owner == nvsim_speaks_as(file) ? client : NULL;
}

struct nvsim_client *nvsim_client_new(struct nvsim_file *file, u32 handle,
				      const struct nvsim_class *class, u32 *status)
{
	struct nvsim_client *client;
	int err;

	lockdep_assert_held(&nvsim_rm_lock);

	client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);
	if (!client) {
		*status = NV_ERR_NO_MEMORY;
		return NULL;
	}
	xa_init_flags(&client->objects, XA_FLAGS_ALLOC);
	client->next_handle = NVSIM_OBJECT_FIRST;
	client->owner = nvsim_speaks_as(file);
	client->pid = get_pid(task_tgid(current));
	client->euid = current_euid();

	if (handle) {
		client->handle = handle;
		err = xa_insert(&nvsim_clients, handle, client, GFP_KERNEL_ACCOUNT);
	} else {
		err = xa_alloc_cyclic(&nvsim_clients, &client->handle, client,
				      XA_LIMIT(NVSIM_CLIENT_FIRST, NVSIM_CLIENT_LAST),
				      &nvsim_client_next, GFP_KERNEL_ACCOUNT);
		if (err == 1)
			err = 0;
	}
	if (err) {
		*status = err == -EBUSY && handle ? NV_ERR_INSERT_DUPLICATE_NAME : NV_ERR_NO_MEMORY;
		goto err_free;
	}
	client->root = nvsim_object_new(client, NULL, client->handle, class, status);
	if (!client->root)
		goto err_erase;
	list_add_tail(&client->owner_link, &client->owner->clients);
	return client;

err_erase:
	xa_erase(&nvsim_clients, client->handle);
err_free:
	put_pid(client->pid);
	kfree(client);
	return NULL;
}

/* Channels first, RS_FREE_PRIORITY_HIGH of 535: none sees the memory of its work go. */
static void nvsim_client_free_channels(struct nvsim_client *client)
{
	struct nvsim_object *obj;
	unsigned long handle;

	xa_for_each(&client->objects, handle, obj)
		if (obj->class == AMPERE_CHANNEL_GPFIFO_A)
			nvsim_object_free(obj);
}

void nvsim_client_free(struct nvsim_client *client)
{
	nvsim_client_free_channels(client);
	nvsim_object_free(client->root);
	nvsim_client_free_events(client->handle);
	xa_destroy(&client->objects);
	list_del(&client->owner_link);
	xa_erase(&nvsim_clients, client->handle);
	put_pid(client->pid);
	kfree(client);
}

void nvsim_file_free_clients(struct nvsim_file *file)
{
	struct nvsim_client *client, *next;

	lockdep_assert_held(&nvsim_rm_lock);
	list_for_each_entry_safe(client, next, &file->clients, owner_link)
		nvsim_client_free(client);
}
