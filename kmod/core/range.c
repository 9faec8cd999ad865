// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "range.h"

/*
 * A treap: a search tree by base, a heap by priority. Equal bases go right, so that walking from
 * the first node with a base meets all of them.
 */

void vgpu_ranges_init(struct vgpu_ranges *ranges, u32 seed)
{
	ranges->root = NULL;
	ranges->count = 0;
	ranges->state = seed ? seed : 1;
}

/* xorshift32, Marsaglia 2003 */
static u32 next_priority(struct vgpu_ranges *ranges)
{
	u32 x = ranges->state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	ranges->state = x;
	return x;
}

static void replace(struct vgpu_ranges *ranges, struct vgpu_range *old, struct vgpu_range *new)
{
	struct vgpu_range *parent = old->parent;

	if (!parent)
		ranges->root = new;
	else if (parent->left == old)
		parent->left = new;
	else
		parent->right = new;
	if (new)
		new->parent = parent;
}

/* Lifts a node above its parent. */
static void rotate_up(struct vgpu_ranges *ranges, struct vgpu_range *node)
{
	struct vgpu_range *parent = node->parent;
	struct vgpu_range *moved;

	replace(ranges, parent, node);
	if (parent->left == node) {
		moved = node->right;
		parent->left = moved;
		node->right = parent;
	} else {
		moved = node->left;
		parent->right = moved;
		node->left = parent;
	}
	if (moved)
		moved->parent = parent;
	parent->parent = node;
}

int vgpu_ranges_add(struct vgpu_ranges *ranges, struct vgpu_range *range)
{
	struct vgpu_range *parent = NULL;
	struct vgpu_range **at = &ranges->root;

	if (!range->length || range->length - 1 > ~(u64)0 - range->base)
		return -EINVAL;
	while (*at) {
		parent = *at;
		at = range->base < parent->base ? &parent->left : &parent->right;
	}
	*at = range;
	range->parent = parent;
	range->left = NULL;
	range->right = NULL;
	range->gone = NULL;
	range->priority = next_priority(ranges);
	while (range->parent && range->parent->priority < range->priority)
		rotate_up(ranges, range);
	ranges->count++;
	return 0;
}

static void detach(struct vgpu_ranges *ranges, struct vgpu_range *range)
{
	while (range->left && range->right)
		rotate_up(ranges, range->left->priority > range->right->priority ? range->left
										 : range->right);
	replace(ranges, range, range->left ? range->left : range->right);
	ranges->count--;
}

static struct vgpu_range *first_from(const struct vgpu_ranges *ranges, u64 base)
{
	struct vgpu_range *node = ranges->root;
	struct vgpu_range *best = NULL;

	while (node) {
		if (node->base >= base) {
			best = node;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return best;
}

struct vgpu_range *vgpu_ranges_at(const struct vgpu_ranges *ranges, u64 addr)
{
	struct vgpu_range *node = ranges->root;
	struct vgpu_range *best = NULL;

	while (node) {
		if (node->base <= addr) {
			best = node;
			node = node->right;
		} else {
			node = node->left;
		}
	}
	return best;
}

static struct vgpu_range *next_range(struct vgpu_range *node)
{
	if (node->right) {
		node = node->right;
		while (node->left)
			node = node->left;
		return node;
	}
	while (node->parent && node->parent->right == node)
		node = node->parent;
	return node->parent;
}

static struct vgpu_range *take(struct vgpu_ranges *ranges, u64 base, u64 last, u64 tag)
{
	struct vgpu_range *gone = NULL;
	struct vgpu_range *node;
	struct vgpu_range *next;

	for (node = first_from(ranges, base); node && node->base <= last; node = next) {
		next = next_range(node);
		if (node->length - 1 > last - node->base || (tag && node->tag != tag))
			continue;
		detach(ranges, node);
		if (node->charge && !vgpu_charge_put(node->charge))
			node->charge = NULL;
		node->gone = gone;
		gone = node;
	}
	return gone;
}

struct vgpu_range *vgpu_ranges_take(struct vgpu_ranges *ranges, u64 base, u64 length, u64 tag)
{
	u64 end = ~(u64)0;

	if (!length)
		return NULL;
	return take(ranges, base, length - 1 > end - base ? end : base + (length - 1), tag);
}

struct vgpu_range *vgpu_ranges_take_all(struct vgpu_ranges *ranges)
{
	return take(ranges, 0, ~(u64)0, 0);
}
