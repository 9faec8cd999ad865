/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A tenant's book of RM clients and RM objects, and of the charges that hang on them.
 *
 * An object is known by (client, handle). It has a parent, it may depend on further objects of the
 * same client (a channel on its VA space), and it may hold charges. A charge may be shared:
 * RM_DUP_OBJECT and mappings by UVM keep memory alive after the object that took it was freed, so
 * the bytes go back when the last holder lets go.
 *
 * All memory is the caller's. The order of an allocation:
 *
 *	vgpu_charge_open()	before forwarding: takes the bytes or refuses; one reference
 *	vgpu_charge_settle()	the driver agreed: correct to the size it gave
 *	vgpu_book_insert()	publishes the object; the reference now belongs to the object
 *	vgpu_charge_put()	instead of the last two when the driver refused
 *
 * of a duplicate or an external mapping:
 *
 *	vgpu_charge_get()	before forwarding, on the charge of the source, to keep it meanwhile
 *	vgpu_book_insert()	or the reference stays with the mapping
 *	vgpu_charge_put()	instead when the driver refused
 *
 * Freeing is credited by what the book holds, never by the request: the driver answers OK when an
 * absent handle is freed. Removal hands back the list of everything that went, for the caller to
 * free.
 *
 * Insertion of a handle that is still in the book replaces the older entry with all below it: the
 * driver refuses a handle in use, so once it has accepted this one, the older object is gone.
 * Callers serialise allocation and freeing per client over the driver's call, so that the book
 * sees the driver's order.
 *
 * The caller holds one lock over every call on a book and on the ledgers of its charges. Every
 * operation is iterative; removal costs time in proportion to what it removes.
 */
#ifndef VGPU_BOOK_H
#define VGPU_BOOK_H

#include "ledger.h"

#define VGPU_NO_SLICE	0xffffffffu	/* no GPU in particular */

/**
 * struct vgpu_charge - bytes on a ledger with the number of those who keep them there
 * @ledger: where they are booked
 * @bytes: how many
 * @refs: holders; the bytes go back with the last one
 * @kind: enum vgpu_charge_kind
 * @seen: book-private, last walk that counted it
 */
struct vgpu_charge {
	struct vgpu_ledger *ledger;
	u64 bytes;
	u32 refs;
	u32 kind;
	u64 seen;
};

struct vgpu_object;
struct vgpu_client;

/**
 * struct vgpu_dep - what an object needs of another one of its client
 * @handle: the other object, set by the caller before insertion; 0 or unknown: nothing
 * @holds: set by the caller. False: the object goes when the other one goes. True: the object
 *	stays and keeps the other one's charge alive, as a channel does with the memory of its
 *	USERD (535.288.01 src/nvidia/src/kernel/gpu/fifo/arch/volta/kernel_channel_gv100.c takes
 *	a reference of it)
 * @held: with @holds, the charge; on a detached object as vgpu_object.charge
 * @who: the object that depends; this and the following are book-private
 * @next: next dependent of the same object
 * @link: what points at this one, NULL when not linked
 */
struct vgpu_dep {
	u32 handle;
	u32 holds;
	struct vgpu_charge *held;
	struct vgpu_object *who;
	struct vgpu_dep *next;
	struct vgpu_dep **link;
};

/**
 * struct vgpu_object - an RM object
 * @handle: RM handle, set by the caller
 * @class: RM class, set by the caller
 * @slice: index of the slice it belongs to or VGPU_NO_SLICE, set by the caller
 * @tag: the caller's own word (a doorbell object, a device's instance, ...)
 * @nr_deps: entries of @deps, set by the caller
 * @is_client: this is the root member of a struct vgpu_client
 * @charge: the charge it holds or NULL. On a detached object: non-NULL when it was the last
 *	holder; the bytes are back on the ledger and the caller frees the charge
 * @client: owner
 * @gone: next in a list of detached objects
 * @parent, @child, @next, @link: the tree; book-private
 * @bucket_next, @bucket_link: the hash; book-private
 * @dependents: objects that depend on this one; book-private
 * @deps: what this one depends on; the caller's array, its handles set
 */
struct vgpu_object {
	u32 handle;
	u32 class;
	u32 slice;
	u32 tag;
	u32 nr_deps;
	u32 is_client;
	struct vgpu_charge *charge;
	struct vgpu_client *client;
	struct vgpu_object *gone;
	struct vgpu_object *parent;
	struct vgpu_object *child;
	struct vgpu_object *next;
	struct vgpu_object **link;
	struct vgpu_object *bucket_next;
	struct vgpu_object **bucket_link;
	struct vgpu_dep *dependents;
	struct vgpu_dep *deps;
};

/**
 * struct vgpu_owner - the open file that makes clients; the caller embeds it in its own structure
 * @clients: clients made through it, gone when it closes
 */
struct vgpu_owner {
	struct vgpu_client *clients;
};

/**
 * struct vgpu_client - an RM client
 * @owner: the file that made it
 * @process: the caller's cookie of the process that made it
 * @objects: objects in it, without @root
 * @next, @link: clients of the same book; book-private
 * @owner_next, @owner_link: clients of the same owner; book-private
 * @root: the client as an object; its handle is the client's
 */
struct vgpu_client {
	struct vgpu_owner *owner;
	void *process;
	u64 objects;
	struct vgpu_client *next;
	struct vgpu_client **link;
	struct vgpu_client *owner_next;
	struct vgpu_client **owner_link;
	struct vgpu_object root;
};

/**
 * struct vgpu_book - the book
 * @buckets: hash of objects, the caller's array
 * @nr_buckets: its length, a power of two
 * @seed: unpredictable, so that a tenant cannot choose handles that collide
 * @objects: objects in it, clients included
 * @walk: number of the last counting walk
 * @clients: all clients
 */
struct vgpu_book {
	struct vgpu_object **buckets;
	u32 nr_buckets;
	u32 seed;
	u64 objects;
	u64 walk;
	struct vgpu_client *clients;
};

/* Charges. */

/*
 * 0 with one reference, or what vgpu_ledger_try_charge() says; on refusal @charge is not to be
 * used.
 */
int vgpu_charge_open(struct vgpu_charge *charge, struct vgpu_ledger *ledger, u32 kind, u64 bytes);
int vgpu_charge_settle(struct vgpu_charge *charge, u64 real);
void vgpu_charge_get(struct vgpu_charge *charge);
/*
 * True: that was the last reference, the bytes are back on the ledger, the caller frees the
 * charge.
 */
bool vgpu_charge_put(struct vgpu_charge *charge);

/* The book. */

/* @buckets is zeroed; @nr_buckets is a power of two. */
void vgpu_book_init(struct vgpu_book *book, struct vgpu_object **buckets, u32 nr_buckets, u32 seed);
/* Moves the book to a zeroed array of another length; the old array is the caller's to free. */
struct vgpu_object **vgpu_book_rehash(struct vgpu_book *book, struct vgpu_object **buckets,
				      u32 nr_buckets);

/*
 * Publishes a client with handle @handle. An older client of that handle is replaced; the return
 * value is the list of what went with it, NULL as a rule.
 */
struct vgpu_object *vgpu_book_add_client(struct vgpu_book *book, struct vgpu_client *client,
					 u32 handle, struct vgpu_owner *owner, void *process);

/*
 * Publishes @obj (handle, class, slice, tag, nr_deps and the handles in deps[] set) below @parent
 * in
 * @client, holding @charge or nothing (NULL). An unknown @parent is taken as the client itself.
 *	When
 * @obj->slice is VGPU_NO_SLICE the parent's is taken over. @gone receives the list of what an
 *	older entry
 * of that handle took along, NULL as a rule.
 * 0, or -ENOENT: no such client, nothing changed, the charge is still the caller's.
 */
int vgpu_book_insert(struct vgpu_book *book, struct vgpu_object *obj, u32 client, u32 parent,
		     struct vgpu_charge *charge, struct vgpu_object **gone);

struct vgpu_client *vgpu_book_client(const struct vgpu_book *book, u32 client);
/* The client itself is found by handle == client. */
struct vgpu_object *vgpu_book_find(const struct vgpu_book *book, u32 client, u32 handle);

/*
 * Detaches an object, all below it and all that depend on any of them. The charges they held are
 * put. Returns the list (by @gone), a client among it by is_client; NULL when there was no such
 * object.
 */
struct vgpu_object *vgpu_book_remove(struct vgpu_book *book, u32 client, u32 handle);
/* The same for all clients of an owner. */
struct vgpu_object *vgpu_book_drop_owner(struct vgpu_book *book, struct vgpu_owner *owner);
/* The same for everything. */
struct vgpu_object *vgpu_book_drop_all(struct vgpu_book *book);

/* The client that @obj, an object with is_client, is the root of. */
struct vgpu_client *vgpu_client_of(struct vgpu_object *obj);

/*
 * Bytes that a process (@process NULL: any) holds on @ledger through its clients, by kind; what it
 * holds twice counts once. @client 0: all its clients. Returns the number of objects counted.
 */
u64 vgpu_book_usage(struct vgpu_book *book, const struct vgpu_ledger *ledger, const void *process,
		    u32 client, u64 bytes[VGPU_CHARGE_KINDS]);

/* True when @process has an object of class @class on slice @slice. */
bool vgpu_book_has_class(const struct vgpu_book *book, const void *process, u32 slice, u32 class);

/*
 * The object after @obj in the walk over a client's tree, parents first; start with &client->root.
 */
struct vgpu_object *vgpu_object_next(const struct vgpu_object *obj);

#endif /* VGPU_BOOK_H */
