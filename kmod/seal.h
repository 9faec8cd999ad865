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
 *
 * Making and taking away a mapping is dear, so a file keeps one for its next call. Each call uses
 * pages that were not used since they were last taken out of the page table.
 */
#ifndef VGPU_SEAL_H
#define VGPU_SEAL_H

#include <linux/types.h>

struct file;
struct mm_struct;
struct task_struct;
struct vgpu_file;

/**
 * struct vgpu_seal - pages mapped into a process
 * @mem: the pages of this call, zeroed, for us
 * @addr: their address, for the driver
 * @size: their length
 * @task: who makes the call, NULL between calls
 * @pages: all pages
 * @base: address of the mapping
 * @length: its length
 * @used: bytes from the start that were used
 * @file: what the mapping hangs on
 * @mm: the process, for comparison alone: a mapping whose process has ended is broken
 * @mapped: the mapping has been made
 * @closing: we are taking it away ourselves
 * @broken: somebody else touched it
 */
struct vgpu_seal {
	void *mem;
	unsigned long addr;
	size_t size;
	struct task_struct *task;
	void *pages;
	unsigned long base;
	size_t length;
	size_t used;
	struct file *file;
	const struct mm_struct *mm;
	bool mapped;
	bool closing;
	bool broken;
};

/* ERR_PTR on failure. Takes the caller's mmap_lock. */
struct vgpu_seal *vgpu_seal_open(struct vgpu_file *vf, size_t size);
/* True when the driver may have read something else than @mem. */
bool vgpu_seal_broken(const struct vgpu_seal *seal);
void vgpu_seal_close(struct vgpu_file *vf, struct vgpu_seal *seal);
/* The file goes. */
void vgpu_seal_release(struct vgpu_file *vf);

#endif /* VGPU_SEAL_H */
