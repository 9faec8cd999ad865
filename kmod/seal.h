/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sealed arguments: what a tenant asks for is read once.
 *
 * The driver copies the argument of an ioctl from user memory itself, after we have looked at it,
 * and a second thread can change it in between. So a request that counts is forwarded from pages of
 * ours that are mapped into the caller for the time of the call and that nothing can write to
 * before the driver has read them: they are write-protected, and the first write is allowed only to
 * the kernel, in the task that makes the call: that is the driver copying its answer out. Taking
 * the mapping away, to put other memory at its address, is noticed (vgpu_seal_broken()).
 *
 * Once the driver has written its answer, other threads can write there too. What is read back is
 * therefore good enough to tell the caller, and to learn what only makes a charge larger; a lie
 * must never make one smaller.
 */
#ifndef VGPU_SEAL_H
#define VGPU_SEAL_H

#include <linux/types.h>

struct file;
struct task_struct;

/**
 * struct vgpu_seal - pages mapped into the caller
 * @mem: the pages, for us
 * @size: their length
 * @addr: address for the driver
 * @file: what the mapping hangs on
 * @task: who makes the call
 * @mapped: the mapping has been made
 * @closing: we are taking it away ourselves
 * @broken: somebody else touched it
 */
struct vgpu_seal {
	void *mem;
	size_t size;
	unsigned long addr;
	struct file *file;
	struct task_struct *task;
	bool mapped;
	bool closing;
	bool broken;
};

/* ERR_PTR on failure. Takes the caller's mmap_lock. */
struct vgpu_seal *vgpu_seal_open(size_t size);
/* True when the driver may have read something else than @mem. */
bool vgpu_seal_broken(const struct vgpu_seal *seal);
void vgpu_seal_close(struct vgpu_seal *seal);

#endif /* VGPU_SEAL_H */
