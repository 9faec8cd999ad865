/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The VA ranges of one nvidia-uvm file that hold charges: external mappings of RM memory (they
 * keep the memory alive after RM_FREE) and managed ranges (charged by length).
 *
 * A range goes when a request covers it whole. What is covered in part stays, because the driver
 * may still hold all of its memory.
 *
 * A balanced tree by base address; ranges may overlap (one a GPU). The caller owns the memory and
 * holds the lock of the book.
 */
#ifndef VGPU_RANGE_H
#define VGPU_RANGE_H

#include "book.h"

/**
 * struct vgpu_range - charged bytes of address space
 * @base: first byte, set by the caller
 * @length: bytes, set by the caller
 * @tag: which of the ranges at one place (a GPU); 0 stands for any when ranges are taken
 * @charge: the reference that the range holds, set by the caller. On a detached range: non-NULL
 *	when it was the last holder; the bytes are back on the ledger and the caller frees the
 *	charge
 * @gone: next in a list of detached ranges
 * @parent, @left, @right, @priority: the tree; private
 */
struct vgpu_range {
	u64 base;
	u64 length;
	u64 tag;
	struct vgpu_charge *charge;
	struct vgpu_range *gone;
	struct vgpu_range *parent;
	struct vgpu_range *left;
	struct vgpu_range *right;
	u32 priority;
};

/**
 * struct vgpu_ranges - the ranges of a file
 * @root: the tree
 * @count: ranges in it
 * @state: of the generator of priorities
 */
struct vgpu_ranges {
	struct vgpu_range *root;
	u64 count;
	u32 state;
};

/* @seed: unpredictable, so that a tenant cannot choose addresses that unbalance the tree. */
void vgpu_ranges_init(struct vgpu_ranges *ranges, u32 seed);

/* 0, or -EINVAL: empty, or past the end of the address space. */
int vgpu_ranges_add(struct vgpu_ranges *ranges, struct vgpu_range *range);

/*
 * The range with the highest base not above @addr, or NULL: of ranges that do not overlap, the one
 * that contains @addr if any does.
 */
struct vgpu_range *vgpu_ranges_at(const struct vgpu_ranges *ranges, u64 addr);

/*
 * Detaches the ranges with tag @tag (0: any) that lie whole inside [base, base + length) and puts
 * their charges. The list goes by @gone.
 */
struct vgpu_range *vgpu_ranges_take(struct vgpu_ranges *ranges, u64 base, u64 length, u64 tag);

/* The same for all. */
struct vgpu_range *vgpu_ranges_take_all(struct vgpu_ranges *ranges);

#endif /* VGPU_RANGE_H */
