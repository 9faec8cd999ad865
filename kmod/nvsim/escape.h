/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The escapes. Each gets a kernel copy of its argument, which goes back to the caller whatever the
 * result; the size is checked by the table in escape.c unless its row says otherwise. 0 or -errno
 * is what ioctl() returns; the RM status is a word of the argument.
 */
#ifndef NVSIM_ESCAPE_H
#define NVSIM_ESCAPE_H

#include "nvsim.h"

typedef int (*nvsim_escape_fn)(struct nvsim_file *file, void *arg, u32 size);

/* rmalloc.c */
int nvsim_esc_alloc(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_free(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_dup(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_share(struct nvsim_file *file, void *arg, u32 size);
u32 nvsim_rm_free(struct nvsim_file *file, u32 client, u32 object);

/* Under nvsim_rm_lock: a further handle for a memory object. */
u32 nvsim_object_from_mem(struct nvsim_client *client, u32 parent, u32 *handle, u32 class,
			  struct nvsim_mem *mem);
u32 nvsim_share_set(u32 *shared, u32 *shared_with, const struct rs_share_policy *policy);

/* memory.c */
int nvsim_esc_vid_heap(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_alloc_memory(struct nvsim_file *file, void *arg, u32 size);

/* rmmap.c */
int nvsim_esc_map_memory(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_unmap_memory(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_map_dma(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_unmap_dma(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_update_mapping(struct nvsim_file *file, void *arg, u32 size);

/* F1, F5, F6 and the mmap context of the file fd. */
u32 nvsim_rm_map(struct nvsim_file *file, u32 client, u32 device, u32 memory, u64 offset,
		 u64 length, u32 flags, int fd);

/* control.c */
int nvsim_esc_control(struct nvsim_file *file, void *arg, u32 size);

/* event.c */
int nvsim_esc_alloc_os_event(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_free_os_event(struct nvsim_file *file, void *arg, u32 size);
void nvsim_file_free_events(struct nvsim_file *file);
void nvsim_client_free_events(u32 client);

#endif
