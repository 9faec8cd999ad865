/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GPU virtual address spaces: what a range of addresses refers to.
 *
 * A space made by RM (FERMI_VASPACE_A, or a device's own) may be registered with a UVM file; then
 * addresses it does not map itself are looked up in that file's space.
 */
#ifndef NVSIM_VAS_H
#define NVSIM_VAS_H

#include <linux/interval_tree.h>

#include "nvsim.h"

struct nvsim_vas;

struct nvsim_vas *nvsim_vas_create(void);
void nvsim_vas_get(struct nvsim_vas *vas);
void nvsim_vas_put(struct nvsim_vas *vas);

/*
 * va, length and offset are whole pages. What the range was before is forgotten. The mapping holds
 * a reference on mem of its own.
 */
u32 nvsim_vas_map(struct nvsim_vas *vas, u64 va, u64 length, struct nvsim_mem *mem, u64 offset);
void nvsim_vas_unmap(struct nvsim_vas *vas, u64 va, u64 length);
/* Exactly one mapping covers the range from its first to its last byte. */
bool nvsim_vas_is_mapping(struct nvsim_vas *vas, u64 va, u64 length);

/* Addresses given out by vas and not to be given out again. */
struct nvsim_reservation {
	struct interval_tree_node range;
	struct nvsim_vas *vas;		/* one reference */
};

/* At va when that is fixed, else anywhere free; NULL when there is no room. */
struct nvsim_reservation *nvsim_vas_reserve(struct nvsim_vas *vas, u64 va, u64 length, u64 align,
					    bool fixed);
void nvsim_vas_unreserve(struct nvsim_reservation *r);
/* A free piece of a reservation, 0 when there is none. */
u64 nvsim_vas_free_piece(struct nvsim_vas *vas, u64 start, u64 last, u64 length, u64 align);

/* Addresses that vas does not map are looked up in managed; false if there is one already. */
bool nvsim_vas_manage(struct nvsim_vas *vas, struct nvsim_vas *managed);
void nvsim_vas_unmanage(struct nvsim_vas *vas);

/* What the engine does. -EFAULT where nothing is mapped, -ENOMEM when the host has no page. */
int nvsim_vas_read(struct nvsim_vas *vas, u64 va, void *to, size_t len);
int nvsim_vas_write(struct nvsim_vas *vas, u64 va, const void *from, size_t len);
int nvsim_vas_clear(struct nvsim_vas *vas, u64 va, size_t len);
int nvsim_vas_copy(struct nvsim_vas *vas, u64 to, u64 from, size_t len);
/* Naturally aligned words of 4 or 8 bytes, in one access as a CPU that polls them expects. */
int nvsim_vas_load(struct nvsim_vas *vas, u64 va, unsigned int bytes, u64 *value);
int nvsim_vas_store(struct nvsim_vas *vas, u64 va, unsigned int bytes, u64 value);

/* The same for a memory object, for words that a channel finds by object and offset (USERD). */
int nvsim_mem_load(struct nvsim_mem *mem, u64 offset, u32 *value);
int nvsim_mem_store(struct nvsim_mem *mem, u64 offset, u32 value);

#endif
