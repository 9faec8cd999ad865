// SPDX-License-Identifier: GPL-2.0-only
/* Memory objects: shared by handles, mappings and GPU page tables, backed page by page. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "books.h"
#include "memory.h"
#include "nvsim.h"

u32 nvsim_mem_create(struct nvsim_client *client, struct nvsim_gpu *gpu, enum nvsim_where where,
		     u32 class, u64 size, struct nvsim_mem **result)
{
	struct nvsim_mem *mem;
	u32 status;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return NV_ERR_NO_MEMORY;
	kref_init(&mem->ref);
	kref_init(&mem->kept);
	mutex_init(&mem->lock);
	xa_init(&mem->pages);
	mem->where = where;
	mem->gpu = gpu;
	mem->size = size;

	if (where == NVSIM_MEM_DEVICE) {
		status = nvsim_books_take(gpu, client, class, size, &mem->account);
		if (status != NV_OK) {
			kfree(mem);
			return status;
		}
	}
	*result = mem;
	return NV_OK;
}

void nvsim_mem_get(struct nvsim_mem *mem)
{
	kref_get(&mem->ref);
}

static void nvsim_mem_free(struct kref *kept)
{
	struct nvsim_mem *mem = container_of(kept, struct nvsim_mem, kept);
	struct page *page;
	unsigned long index;

	xa_for_each(&mem->pages, index, page) {
		if (mem->where == NVSIM_MEM_USER)
			unpin_user_pages_dirty_lock(&page, 1, !mem->read_only);
		else
			__free_page(page);
		cond_resched();
	}
	xa_destroy(&mem->pages);
	kfree(mem);
}

void nvsim_mem_keep(struct nvsim_mem *mem)
{
	kref_get(&mem->kept);
}

void nvsim_mem_unkeep(struct nvsim_mem *mem)
{
	kref_put(&mem->kept, nvsim_mem_free);
}

static void nvsim_mem_release(struct kref *ref)
{
	struct nvsim_mem *mem = container_of(ref, struct nvsim_mem, ref);

	if (mem->account)
		nvsim_books_give(mem->account, mem->size);
	nvsim_mem_unkeep(mem);
}

void nvsim_mem_put(struct nvsim_mem *mem)
{
	kref_put(&mem->ref, nvsim_mem_release);
}

struct page *nvsim_mem_page(struct nvsim_mem *mem, pgoff_t index, bool write)
{
	struct page *page = xa_load(&mem->pages, index);

	if (write && mem->read_only)
		return NULL;

	/* A page stays until release, so a found one needs no lock. */
	if (page || !write || mem->where == NVSIM_MEM_USER || index >= mem->size >> PAGE_SHIFT)
		return page;

	mutex_lock(&mem->lock);
	page = xa_load(&mem->pages, index);
	if (!page) {
		page = alloc_page(GFP_HIGHUSER | __GFP_ZERO | __GFP_ACCOUNT);
		if (page && xa_err(xa_store(&mem->pages, index, page, GFP_KERNEL_ACCOUNT))) {
			__free_page(page);
			page = NULL;
		}
	}
	mutex_unlock(&mem->lock);
	return page;
}

#define NVSIM_PIN_BATCH		64

u32 nvsim_mem_pin(u64 address, u64 size, bool writable, struct nvsim_mem **result)
{
	unsigned int gup = FOLL_LONGTERM | (writable ? FOLL_WRITE : 0);
	struct page *pages[NVSIM_PIN_BATCH];
	struct nvsim_mem *mem;
	unsigned long index = 0;
	u32 status;
	int got, i, err;

	status = nvsim_mem_create(NULL, NULL, NVSIM_MEM_USER, 0, size, &mem);
	if (status != NV_OK)
		return status;
	mem->read_only = !writable;
	while (index < size >> PAGE_SHIFT) {
		got = pin_user_pages_fast(address + (index << PAGE_SHIFT),
					  min_t(u64, (size >> PAGE_SHIFT) - index, NVSIM_PIN_BATCH),
					  gup, pages);
		if (got <= 0) {
			status = NV_ERR_INVALID_ADDRESS;
			goto err;
		}
		for (i = 0; i < got; i++) {
			err = xa_err(xa_store(&mem->pages, index, pages[i], GFP_KERNEL_ACCOUNT));
			if (err) {
				unpin_user_pages(&pages[i], got - i);
				status = NV_ERR_NO_MEMORY;
				goto err;
			}
			index++;
		}
		if (fatal_signal_pending(current)) {
			status = NV_ERR_OPERATING_SYSTEM;
			goto err;
		}
	}
	*result = mem;
	return NV_OK;

err:
	nvsim_mem_put(mem);
	return status;
}
