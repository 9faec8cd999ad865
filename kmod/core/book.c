// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "book.h"

/* A list of detached objects that grows at its end while it is walked from its start. */
struct gone_list {
	struct vgpu_object *first;
	struct vgpu_object **last;
};

int vgpu_charge_open(struct vgpu_charge *charge, struct vgpu_ledger *ledger, u32 kind, u64 bytes)
{
	int ret = vgpu_ledger_try_charge(ledger, kind, bytes);

	if (ret)
		return ret;
	charge->ledger = ledger;
	charge->bytes = bytes;
	charge->refs = 1;
	charge->kind = kind;
	charge->seen = 0;
	return 0;
}

int vgpu_charge_settle(struct vgpu_charge *charge, u64 real)
{
	int ret = vgpu_ledger_settle(charge->ledger, charge->kind, charge->bytes, real);

	if (!ret)
		charge->bytes = real;
	return ret;
}

void vgpu_charge_get(struct vgpu_charge *charge)
{
	charge->refs++;
}

bool vgpu_charge_put(struct vgpu_charge *charge)
{
	if (--charge->refs)
		return false;
	vgpu_ledger_uncharge(charge->ledger, charge->kind, charge->bytes);
	return true;
}

/* The finaliser of MurmurHash3 over the seeded pair. */
static u32 bucket_of(const struct vgpu_book *book, u32 client, u32 handle)
{
	u32 h = book->seed ^ (client * 0x9e3779b1u);

	h ^= h >> 15;
	h = (h + handle) * 0x85ebca6bu;
	h ^= h >> 13;
	h = (h ^ book->seed) * 0xc2b2ae35u;
	h ^= h >> 16;
	return h & (book->nr_buckets - 1);
}

static void hash_add(struct vgpu_book *book, struct vgpu_object *obj)
{
	struct vgpu_object **head;

	head = &book->buckets[bucket_of(book, obj->client->root.handle, obj->handle)];
	obj->bucket_next = *head;
	obj->bucket_link = head;
	if (*head)
		(*head)->bucket_link = &obj->bucket_next;
	*head = obj;
	book->objects++;
}

static void hash_del(struct vgpu_book *book, struct vgpu_object *obj)
{
	*obj->bucket_link = obj->bucket_next;
	if (obj->bucket_next)
		obj->bucket_next->bucket_link = obj->bucket_link;
	book->objects--;
}

void vgpu_book_init(struct vgpu_book *book, struct vgpu_object **buckets, u32 nr_buckets, u32 seed)
{
	memset(book, 0, sizeof(*book));
	book->buckets = buckets;
	book->nr_buckets = nr_buckets;
	book->seed = seed;
}

struct vgpu_object **vgpu_book_rehash(struct vgpu_book *book, struct vgpu_object **buckets,
				      u32 nr_buckets)
{
	struct vgpu_object **old = book->buckets;
	u32 nr_old = book->nr_buckets;
	struct vgpu_object *obj;
	u32 i;

	book->buckets = buckets;
	book->nr_buckets = nr_buckets;
	for (i = 0; i < nr_old; i++) {
		while ((obj = old[i])) {
			hash_del(book, obj);
			hash_add(book, obj);
		}
	}
	return old;
}

struct vgpu_object *vgpu_book_find(const struct vgpu_book *book, u32 client, u32 handle)
{
	struct vgpu_object *obj = book->buckets[bucket_of(book, client, handle)];

	while (obj && (obj->handle != handle || obj->client->root.handle != client))
		obj = obj->bucket_next;
	return obj;
}

struct vgpu_client *vgpu_client_of(struct vgpu_object *obj)
{
	return (struct vgpu_client *)((char *)obj - offsetof(struct vgpu_client, root));
}

struct vgpu_client *vgpu_book_client(const struct vgpu_book *book, u32 client)
{
	struct vgpu_object *obj = vgpu_book_find(book, client, client);

	return obj && obj->is_client ? vgpu_client_of(obj) : NULL;
}

static void tree_add(struct vgpu_object *parent, struct vgpu_object *obj)
{
	obj->parent = parent;
	obj->next = parent->child;
	obj->link = &parent->child;
	if (obj->next)
		obj->next->link = &obj->next;
	parent->child = obj;
}

static void tree_del(struct vgpu_object *obj)
{
	if (!obj->link)
		return;
	*obj->link = obj->next;
	if (obj->next)
		obj->next->link = obj->link;
	obj->link = NULL;
	obj->next = NULL;
	obj->parent = NULL;
}

static void dep_add(struct vgpu_object *on, struct vgpu_object *who, struct vgpu_dep *dep)
{
	dep->who = who;
	dep->next = on->dependents;
	dep->link = &on->dependents;
	if (dep->next)
		dep->next->link = &dep->next;
	on->dependents = dep;
}

static void dep_del(struct vgpu_dep *dep)
{
	if (!dep->link)
		return;
	*dep->link = dep->next;
	if (dep->next)
		dep->next->link = dep->link;
	dep->link = NULL;
	dep->next = NULL;
}

static void deps_link(struct vgpu_book *book, struct vgpu_object *obj)
{
	u32 client = obj->client->root.handle;
	struct vgpu_object *on;
	struct vgpu_dep *dep;
	u32 i;

	for (i = 0; i < obj->nr_deps; i++) {
		dep = &obj->deps[i];
		dep->held = NULL;
		dep->who = NULL;
		dep->next = NULL;
		dep->link = NULL;
		on = dep->handle ? vgpu_book_find(book, client, dep->handle) : NULL;
		if (!on || on->is_client || on == obj)
			continue;
		if (!dep->holds) {
			dep_add(on, obj, dep);
		} else if (on->charge) {
			dep->held = on->charge;
			vgpu_charge_get(dep->held);
		}
	}
}

static void deps_unlink(struct vgpu_object *obj)
{
	struct vgpu_dep *dep;
	u32 i;

	for (i = 0; i < obj->nr_deps; i++) {
		dep = &obj->deps[i];
		dep_del(dep);
		if (dep->held && !vgpu_charge_put(dep->held))
			dep->held = NULL;
	}
}

static void client_unlink(struct vgpu_client *client)
{
	*client->link = client->next;
	if (client->next)
		client->next->link = client->link;
	*client->owner_link = client->owner_next;
	if (client->owner_next)
		client->owner_next->owner_link = client->owner_link;
}

/*
 * Takes an object out of tree and hash and puts it at the end of the list; whoever depends follows
 * later.
 */
static void detach(struct vgpu_book *book, struct vgpu_object *obj, struct gone_list *list)
{
	tree_del(obj);
	hash_del(book, obj);
	if (obj->is_client)
		client_unlink(obj->client);
	else
		obj->client->objects--;
	obj->gone = NULL;
	*list->last = obj;
	list->last = &obj->gone;
}

static void gone_init(struct gone_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

/* Detaches what hangs on the list from @obj on, then lets go of the charges. */
static void detach_rest(struct vgpu_book *book, struct vgpu_object *obj, struct gone_list *list)
{
	struct vgpu_object *who;

	for (; obj; obj = obj->gone) {
		while (obj->child)
			detach(book, obj->child, list);
		while (obj->dependents) {
			who = obj->dependents->who;
			dep_del(obj->dependents);
			if (who->link)
				detach(book, who, list);
		}
		deps_unlink(obj);
		if (obj->charge && !vgpu_charge_put(obj->charge))
			obj->charge = NULL;
	}
}

static void remove_to(struct vgpu_book *book, struct vgpu_object *obj, struct gone_list *list)
{
	detach(book, obj, list);
	detach_rest(book, obj, list);
}

struct vgpu_object *vgpu_book_remove(struct vgpu_book *book, u32 client, u32 handle)
{
	struct vgpu_object *obj = vgpu_book_find(book, client, handle);
	struct gone_list list;

	gone_init(&list);
	if (obj)
		remove_to(book, obj, &list);
	return list.first;
}

struct vgpu_object *vgpu_book_drop_owner(struct vgpu_book *book, struct vgpu_owner *owner)
{
	struct gone_list list;

	gone_init(&list);
	while (owner->clients)
		remove_to(book, &owner->clients->root, &list);
	return list.first;
}

struct vgpu_object *vgpu_book_drop_all(struct vgpu_book *book)
{
	struct gone_list list;

	gone_init(&list);
	while (book->clients)
		remove_to(book, &book->clients->root, &list);
	return list.first;
}

struct vgpu_object *vgpu_book_add_client(struct vgpu_book *book, struct vgpu_client *client,
					 u32 handle, struct vgpu_owner *owner, void *process)
{
	struct vgpu_object *gone = vgpu_book_remove(book, handle, handle);

	memset(client, 0, sizeof(*client));
	client->owner = owner;
	client->process = process;
	client->root.handle = handle;
	client->root.slice = VGPU_NO_SLICE;
	client->root.is_client = 1;
	client->root.client = client;

	client->next = book->clients;
	client->link = &book->clients;
	if (client->next)
		client->next->link = &client->next;
	book->clients = client;

	client->owner_next = owner->clients;
	client->owner_link = &owner->clients;
	if (client->owner_next)
		client->owner_next->owner_link = &client->owner_next;
	owner->clients = client;

	hash_add(book, &client->root);
	return gone;
}

int vgpu_book_insert(struct vgpu_book *book, struct vgpu_object *obj, u32 client, u32 parent,
		     struct vgpu_charge *charge, struct vgpu_object **gone)
{
	struct vgpu_client *owner = vgpu_book_client(book, client);
	struct vgpu_object *above;

	*gone = NULL;
	if (!owner || obj->handle == client)
		return -ENOENT;
	*gone = vgpu_book_remove(book, client, obj->handle);
	above = vgpu_book_find(book, client, parent);
	if (!above)
		above = &owner->root;

	obj->is_client = 0;
	obj->charge = charge;
	obj->client = owner;
	obj->gone = NULL;
	obj->child = NULL;
	obj->dependents = NULL;
	if (obj->slice == VGPU_NO_SLICE)
		obj->slice = above->slice;
	tree_add(above, obj);
	deps_link(book, obj);
	hash_add(book, obj);
	owner->objects++;
	return 0;
}

struct vgpu_object *vgpu_object_next(const struct vgpu_object *obj)
{
	if (obj->child)
		return obj->child;
	while (obj && !obj->next)
		obj = obj->parent;
	return obj ? obj->next : NULL;
}

static void count(struct vgpu_charge *charge, const struct vgpu_ledger *ledger, u64 walk,
		  u64 bytes[VGPU_CHARGE_KINDS])
{
	if (!charge || charge->ledger != ledger || charge->seen == walk)
		return;
	charge->seen = walk;
	bytes[charge->kind] += charge->bytes;
}

u64 vgpu_book_usage(struct vgpu_book *book, const struct vgpu_ledger *ledger, const void *process,
		    u32 client, u64 bytes[VGPU_CHARGE_KINDS])
{
	struct vgpu_client *owner;
	struct vgpu_object *obj;
	u64 objects = 0;
	u32 i;

	memset(bytes, 0, VGPU_CHARGE_KINDS * sizeof(bytes[0]));
	book->walk++;
	for (owner = book->clients; owner; owner = owner->next) {
		if (process && owner->process != process)
			continue;
		if (client && owner->root.handle != client)
			continue;
		for (obj = owner->root.child; obj; obj = vgpu_object_next(obj)) {
			count(obj->charge, ledger, book->walk, bytes);
			for (i = 0; i < obj->nr_deps; i++)
				count(obj->deps[i].held, ledger, book->walk, bytes);
			objects++;
		}
	}
	return objects;
}

bool vgpu_book_has_class(const struct vgpu_book *book, const void *process, u32 slice, u32 class)
{
	struct vgpu_client *owner;
	struct vgpu_object *obj;

	for (owner = book->clients; owner; owner = owner->next) {
		if (owner->process != process)
			continue;
		for (obj = owner->root.child; obj; obj = vgpu_object_next(obj)) {
			if (obj->class == class && obj->slice == slice)
				return true;
		}
	}
	return false;
}
