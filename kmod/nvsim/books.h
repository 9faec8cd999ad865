/* SPDX-License-Identifier: GPL-2.0-only */
/* Who holds how much of which GPU. */
#ifndef NVSIM_BOOKS_H
#define NVSIM_BOOKS_H

#include "nvsim.h"

extern spinlock_t nvsim_books_lock;
extern struct list_head nvsim_accounts;		/* struct nvsim_account, only those with objects */

/* Takes bytes of the GPU for a client; NV_ERR_NO_MEMORY when they are not there. */
u32 nvsim_books_take(struct nvsim_gpu *gpu, struct nvsim_client *client, u32 class, u64 bytes,
		     struct nvsim_account **account);
void nvsim_books_give(struct nvsim_account *account, u64 bytes);

/* Bytes of the GPU that clients hold. */
u64 nvsim_books_used(struct nvsim_gpu *gpu);
/* The most that they held at once since the module came or the last reset. */
u64 nvsim_books_peak(struct nvsim_gpu *gpu);
void nvsim_books_reset_peak(struct nvsim_gpu *gpu);

/* A process and what it holds of a GPU. */
struct nvsim_holder {
	struct pid *pid;		/* one reference */
	u64 bytes;
};

/* Fills at most max holders (references are the caller's); the number is returned. */
unsigned int nvsim_books_holders(struct nvsim_gpu *gpu, struct nvsim_holder *holders,
				 unsigned int max);

#endif
