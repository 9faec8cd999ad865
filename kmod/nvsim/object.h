/* SPDX-License-Identifier: GPL-2.0-only */
/* What the escapes need of clients and objects beyond nvsim.h. All under nvsim_rm_lock. */
#ifndef NVSIM_OBJECT_H
#define NVSIM_OBJECT_H

#include "nvsim.h"

extern struct xarray nvsim_clients;		/* handle -> struct nvsim_client */

struct nvsim_client *nvsim_client_new(struct nvsim_file *file, u32 handle,
				      const struct nvsim_class *class, u32 *status);
void nvsim_client_free(struct nvsim_client *client);

/* The client if this open file may speak for it (F5), else NULL. */
struct nvsim_client *nvsim_client_of(struct nvsim_file *file, u32 handle);

/* The file goes: its clients with it. */
void nvsim_file_free_clients(struct nvsim_file *file);

/* A bare object in its place in the tree; handle 0 lets the driver choose. */
struct nvsim_object *nvsim_object_new(struct nvsim_client *client, struct nvsim_object *parent,
				      u32 handle, const struct nvsim_class *class, u32 *status);
/* Takes an object without children out of the tree, its class's free() not called. */
void nvsim_object_drop(struct nvsim_object *obj);

/* ---- rmalloc.c ---- */

struct nvsim_new {
	u32 client;
	u32 parent;
	u32 handle;		/* in: wanted, 0 for any; out: given */
	u32 class;
	void *params;		/* kernel copy of the class's size, in and out */
};

/* RM_ALLOC of anything below a client; takes nvsim_rm_lock. */
u32 nvsim_rm_alloc(struct nvsim_file *file, struct nvsim_new *new);

bool nvsim_class_is_root(u32 class);

bool nvsim_class_is_memory(u32 class);
/* The NVSIM_UNDER_ bit of a class, 0 for what nothing hangs below. */
u8 nvsim_class_as_parent(u32 class);

#endif
