// SPDX-License-Identifier: GPL-2.0-only
/*
 * GPU virtual addresses: tables of mappings and what the engine reads and writes through them.
 *
 * vas->lock covers the tables of one space and is never held over another's. A look-up keeps
 * the memory it finds, so a mapping that goes meanwhile leaves the access harmless.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "vas.h"

/*
 * Where addresses are looked for that nobody asks for by value: above what 32 bits reach and below
 * the end of what a GA10x walks in its page tables (49 bits) and a CPU has for user space.
 */
#define NVSIM_VA_FIRST	0x100000000ULL
#define NVSIM_VA_LAST	0x7fffffffffffULL

struct nvsim_mapping {
	struct interval_tree_node range;
	struct nvsim_mem *mem;		/* one reference */
	u64 offset;			/* of range.start in mem */
	struct list_head gone;		/* on its way out */
};

struct nvsim_vas {
	struct kref ref;
	struct mutex lock;		/* the trees and managed */
	struct rb_root_cached mappings;
	struct rb_root_cached reserved;
	struct nvsim_vas *managed;	/* one reference */
};

/* A piece of memory that an address leads to. */
struct nvsim_span {
	struct nvsim_mem *mem;		/* kept */
	u64 offset;
	u64 length;
};

struct nvsim_vas *nvsim_vas_create(void)
{
	struct nvsim_vas *vas = kzalloc(sizeof(*vas), GFP_KERNEL_ACCOUNT);

	if (!vas)
		return NULL;
	kref_init(&vas->ref);
	mutex_init(&vas->lock);
	vas->mappings = RB_ROOT_CACHED;
	vas->reserved = RB_ROOT_CACHED;
	return vas;
}

void nvsim_vas_get(struct nvsim_vas *vas)
{
	kref_get(&vas->ref);
}

static void nvsim_vas_release(struct kref *ref)
{
	struct nvsim_vas *vas = container_of(ref, struct nvsim_vas, ref);

	nvsim_vas_unmap(vas, 0, U64_MAX);
	if (vas->managed)
		nvsim_vas_put(vas->managed);
	kfree(vas);
}

void nvsim_vas_put(struct nvsim_vas *vas)
{
	kref_put(&vas->ref, nvsim_vas_release);
}

static struct nvsim_mapping *nvsim_vas_first(struct nvsim_vas *vas, u64 start, u64 last)
{
	struct interval_tree_node *node = interval_tree_iter_first(&vas->mappings, start, last);

	return node ? container_of(node, struct nvsim_mapping, range) : NULL;
}

static void nvsim_vas_insert(struct nvsim_vas *vas, struct nvsim_mapping *m, u64 start, u64 last,
			     struct nvsim_mem *mem, u64 offset)
{
	nvsim_mem_get(mem);
	m->mem = mem;
	m->offset = offset;
	m->range.start = start;
	m->range.last = last;
	interval_tree_insert(&m->range, &vas->mappings);
}

/* Cuts start..last out of the table; what remains of a mapping on either side stays. */
static void nvsim_vas_cut(struct nvsim_vas *vas, u64 start, u64 last, struct list_head *gone)
{
	struct nvsim_mapping *m, *rest;

	lockdep_assert_held(&vas->lock);
	while ((m = nvsim_vas_first(vas, start, last))) {
		interval_tree_remove(&m->range, &vas->mappings);
		if (m->range.start < start) {
			rest = kzalloc(sizeof(*rest), GFP_KERNEL | __GFP_NOFAIL);
			nvsim_vas_insert(vas, rest, m->range.start, start - 1, m->mem, m->offset);
		}
		if (m->range.last > last) {
			rest = kzalloc(sizeof(*rest), GFP_KERNEL | __GFP_NOFAIL);
			nvsim_vas_insert(vas, rest, last + 1, m->range.last, m->mem,
					 m->offset + (last + 1 - m->range.start));
		}
		list_add(&m->gone, gone);
	}
}

static void nvsim_vas_forget(struct list_head *gone)
{
	struct nvsim_mapping *m, *next;

	list_for_each_entry_safe(m, next, gone, gone) {
		nvsim_mem_put(m->mem);
		kfree(m);
	}
}

static bool nvsim_vas_range_valid(u64 va, u64 length)
{
	return length && va + length - 1 >= va;
}

u32 nvsim_vas_map(struct nvsim_vas *vas, u64 va, u64 length, struct nvsim_mem *mem, u64 offset)
{
	struct nvsim_mapping *m;
	LIST_HEAD(gone);

	if (!nvsim_vas_range_valid(va, length) || !PAGE_ALIGNED(va | length))
		return NV_ERR_INVALID_ADDRESS;
	if (!PAGE_ALIGNED(offset) || offset > mem->size || length > mem->size - offset)
		return NV_ERR_INVALID_OFFSET;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return NV_ERR_NO_MEMORY;

	mutex_lock(&vas->lock);
	nvsim_vas_cut(vas, va, va + length - 1, &gone);
	nvsim_vas_insert(vas, m, va, va + length - 1, mem, offset);
	mutex_unlock(&vas->lock);

	nvsim_vas_forget(&gone);
	return NV_OK;
}

void nvsim_vas_unmap(struct nvsim_vas *vas, u64 va, u64 length)
{
	LIST_HEAD(gone);

	if (!nvsim_vas_range_valid(va, length))
		return;

	mutex_lock(&vas->lock);
	nvsim_vas_cut(vas, va, va + length - 1, &gone);
	mutex_unlock(&vas->lock);

	nvsim_vas_forget(&gone);
}

bool nvsim_vas_is_mapping(struct nvsim_vas *vas, u64 va, u64 length)
{
	struct nvsim_mapping *m;
	bool is;

	if (!nvsim_vas_range_valid(va, length))
		return false;

	mutex_lock(&vas->lock);
	m = nvsim_vas_first(vas, va, va);
	is = m && m->range.start == va && m->range.last == va + length - 1;
	mutex_unlock(&vas->lock);
	return is;
}

/* The first address from start on at which a range of that length meets nothing in the tree. */
static u64 nvsim_vas_gap(struct rb_root_cached *tree, u64 start, u64 last, u64 length, u64 align)
{
	struct interval_tree_node *node;
	u64 va = ALIGN(start, align);

	while (va >= start && va <= last && last - va >= length - 1) {
		node = interval_tree_iter_first(tree, va, va + length - 1);
		if (!node)
			return va;
		va = ALIGN(node->last + 1, align);
	}
	return 0;
}

struct nvsim_reservation *nvsim_vas_reserve(struct nvsim_vas *vas, u64 va, u64 length, u64 align,
					    bool fixed)
{
	struct nvsim_reservation *r;

	if (!length)
		return NULL;
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;

	mutex_lock(&vas->lock);
	if (!fixed)
		va = nvsim_vas_gap(&vas->reserved, NVSIM_VA_FIRST, NVSIM_VA_LAST, length, align);
	else if (!nvsim_vas_range_valid(va, length) ||
		 interval_tree_iter_first(&vas->reserved, va, va + length - 1))
		va = 0;
	if (va) {
		r->range.start = va;
		r->range.last = va + length - 1;
		interval_tree_insert(&r->range, &vas->reserved);
		nvsim_vas_get(vas);
		r->vas = vas;
	}
	mutex_unlock(&vas->lock);

	if (!va) {
		kfree(r);
		return NULL;
	}
	return r;
}

void nvsim_vas_unreserve(struct nvsim_reservation *r)
{
	mutex_lock(&r->vas->lock);
	interval_tree_remove(&r->range, &r->vas->reserved);
	mutex_unlock(&r->vas->lock);
	nvsim_vas_put(r->vas);
	kfree(r);
}

u64 nvsim_vas_free_piece(struct nvsim_vas *vas, u64 start, u64 last, u64 length, u64 align)
{
	u64 va;

	mutex_lock(&vas->lock);
	va = nvsim_vas_gap(&vas->mappings, start, last, length, align);
	mutex_unlock(&vas->lock);
	return va;
}

bool nvsim_vas_manage(struct nvsim_vas *vas, struct nvsim_vas *managed)
{
	bool taken;

	mutex_lock(&vas->lock);
	taken = vas->managed;
	if (!taken) {
		nvsim_vas_get(managed);
		vas->managed = managed;
	}
	mutex_unlock(&vas->lock);
	return !taken;
}

void nvsim_vas_unmanage(struct nvsim_vas *vas)
{
	struct nvsim_vas *managed;

	mutex_lock(&vas->lock);
	managed = vas->managed;
	vas->managed = NULL;
	mutex_unlock(&vas->lock);
	if (managed)
		nvsim_vas_put(managed);
}

static bool nvsim_vas_find_here(struct nvsim_vas *vas, u64 va, struct nvsim_span *span,
				struct nvsim_vas **managed)
{
	struct nvsim_mapping *m;

	mutex_lock(&vas->lock);
	m = nvsim_vas_first(vas, va, va);
	if (m) {
		nvsim_mem_keep(m->mem);
		span->mem = m->mem;
		span->offset = m->offset + (va - m->range.start);
		span->length = m->range.last - va + 1;
	} else if (managed && vas->managed) {
		nvsim_vas_get(vas->managed);
		*managed = vas->managed;
	}
	mutex_unlock(&vas->lock);
	return m;
}

static bool nvsim_vas_find(struct nvsim_vas *vas, u64 va, struct nvsim_span *span)
{
	struct nvsim_vas *managed = NULL;
	bool found = nvsim_vas_find_here(vas, va, span, &managed);

	if (managed) {
		found = nvsim_vas_find_here(managed, va, span, NULL);
		nvsim_vas_put(managed);
	}
	return found;
}

static int nvsim_mem_read(struct nvsim_mem *mem, u64 offset, void *to, size_t len)
{
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t n = min(len, PAGE_SIZE - in_page);
		struct page *page = nvsim_mem_page(mem, offset >> PAGE_SHIFT, false);

		if (page)
			memcpy_from_page(to, page, in_page, n);
		else
			memset(to, 0, n);
		offset += n;
		to += n;
		len -= n;
	}
	return 0;
}

static int nvsim_mem_write(struct nvsim_mem *mem, u64 offset, const void *from, size_t len)
{
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t n = min(len, PAGE_SIZE - in_page);
		struct page *page = nvsim_mem_page(mem, offset >> PAGE_SHIFT, true);

		if (!page)
			return -ENOMEM;
		memcpy_to_page(page, in_page, from, n);
		offset += n;
		from += n;
		len -= n;
	}
	return 0;
}

int nvsim_vas_read(struct nvsim_vas *vas, u64 va, void *to, size_t len)
{
	while (len) {
		struct nvsim_span span;
		size_t n;
		int err;

		if (!nvsim_vas_find(vas, va, &span))
			return -EFAULT;
		n = min_t(u64, len, span.length);
		err = nvsim_mem_read(span.mem, span.offset, to, n);
		nvsim_mem_unkeep(span.mem);
		if (err)
			return err;
		va += n;
		to += n;
		len -= n;
	}
	return 0;
}

int nvsim_vas_write(struct nvsim_vas *vas, u64 va, const void *from, size_t len)
{
	while (len) {
		struct nvsim_span span;
		size_t n;
		int err;

		if (!nvsim_vas_find(vas, va, &span))
			return -EFAULT;
		n = min_t(u64, len, span.length);
		err = nvsim_mem_write(span.mem, span.offset, from, n);
		nvsim_mem_unkeep(span.mem);
		if (err)
			return err;
		va += n;
		from += n;
		len -= n;
	}
	return 0;
}

static int nvsim_mem_copy(struct nvsim_mem *to, u64 to_off, struct nvsim_mem *from, u64 from_off,
			  size_t len)
{
	while (len) {
		size_t to_in = offset_in_page(to_off), from_in = offset_in_page(from_off);
		size_t n = min3(len, PAGE_SIZE - to_in, PAGE_SIZE - from_in);
		struct page *from_page = nvsim_mem_page(from, from_off >> PAGE_SHIFT, false);
		struct page *to_page = nvsim_mem_page(to, to_off >> PAGE_SHIFT, true);

		if (!to_page)
			return -ENOMEM;
		if (!from_page)
			memzero_page(to_page, to_in, n);
		else if (n == PAGE_SIZE)
			copy_highpage(to_page, from_page);
		else
			memcpy_page(to_page, to_in, from_page, from_in, n);
		to_off += n;
		from_off += n;
		len -= n;
	}
	return 0;
}

int nvsim_vas_copy(struct nvsim_vas *vas, u64 to, u64 from, size_t len)
{
	while (len) {
		struct nvsim_span src, dst;
		size_t n;
		int err;

		if (!nvsim_vas_find(vas, from, &src))
			return -EFAULT;
		if (!nvsim_vas_find(vas, to, &dst)) {
			nvsim_mem_unkeep(src.mem);
			return -EFAULT;
		}
		n = min3((u64)len, src.length, dst.length);
		err = nvsim_mem_copy(dst.mem, dst.offset, src.mem, src.offset, n);
		nvsim_mem_unkeep(dst.mem);
		nvsim_mem_unkeep(src.mem);
		if (err)
			return err;
		to += n;
		from += n;
		len -= n;
	}
	return 0;
}

static int nvsim_mem_clear(struct nvsim_mem *mem, u64 offset, size_t len)
{
	if (mem->read_only)
		return -EFAULT;
	while (len) {
		size_t in_page = offset_in_page(offset);
		size_t n = min(len, PAGE_SIZE - in_page);
		struct page *page = nvsim_mem_page(mem, offset >> PAGE_SHIFT, false);

		/* What was never touched is zero already, and stays without a page. */
		if (page)
			memzero_page(page, in_page, n);
		offset += n;
		len -= n;
	}
	return 0;
}

int nvsim_vas_clear(struct nvsim_vas *vas, u64 va, size_t len)
{
	while (len) {
		struct nvsim_span span;
		size_t n;
		int err;

		if (!nvsim_vas_find(vas, va, &span))
			return -EFAULT;
		n = min_t(u64, len, span.length);
		err = nvsim_mem_clear(span.mem, span.offset, n);
		nvsim_mem_unkeep(span.mem);
		if (err)
			return err;
		va += n;
		len -= n;
	}
	return 0;
}

static int nvsim_mem_load_word(struct nvsim_mem *mem, u64 offset, unsigned int bytes, u64 *value)
{
	struct page *page = nvsim_mem_page(mem, offset >> PAGE_SHIFT, false);
	void *p;

	if (!page) {
		*value = 0;
		return 0;
	}
	p = kmap_local_page(page);
	if (bytes == 8)
		*value = READ_ONCE(*(u64 *)(p + offset_in_page(offset)));
	else
		*value = READ_ONCE(*(u32 *)(p + offset_in_page(offset)));
	kunmap_local(p);
	return 0;
}

static int nvsim_mem_store_word(struct nvsim_mem *mem, u64 offset, unsigned int bytes, u64 value)
{
	struct page *page = nvsim_mem_page(mem, offset >> PAGE_SHIFT, true);
	void *p;

	if (!page)
		return -ENOMEM;
	p = kmap_local_page(page);
	/* What was written before is visible to whoever sees this word. */
	smp_wmb();
	if (bytes == 8)
		WRITE_ONCE(*(u64 *)(p + offset_in_page(offset)), value);
	else
		WRITE_ONCE(*(u32 *)(p + offset_in_page(offset)), value);
	kunmap_local(p);
	return 0;
}

int nvsim_vas_load(struct nvsim_vas *vas, u64 va, unsigned int bytes, u64 *value)
{
	struct nvsim_span span;
	int err;

	if (!IS_ALIGNED(va, bytes) || !nvsim_vas_find(vas, va, &span))
		return -EFAULT;
	err = nvsim_mem_load_word(span.mem, span.offset, bytes, value);
	nvsim_mem_unkeep(span.mem);
	return err;
}

int nvsim_vas_store(struct nvsim_vas *vas, u64 va, unsigned int bytes, u64 value)
{
	struct nvsim_span span;
	int err;

	if (!IS_ALIGNED(va, bytes) || !nvsim_vas_find(vas, va, &span))
		return -EFAULT;
	err = nvsim_mem_store_word(span.mem, span.offset, bytes, value);
	nvsim_mem_unkeep(span.mem);
	return err;
}

int nvsim_mem_load(struct nvsim_mem *mem, u64 offset, u32 *value)
{
	u64 word = 0;
	int err = nvsim_mem_load_word(mem, offset, sizeof(u32), &word);

	*value = word;
	return err;
}

int nvsim_mem_store(struct nvsim_mem *mem, u64 offset, u32 value)
{
	return nvsim_mem_store_word(mem, offset, sizeof(u32), value);
}
