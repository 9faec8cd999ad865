// SPDX-License-Identifier: GPL-2.0-only
/* Memory objects: shared by handles, mappings and GPU page tables, backed page by page. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "books.h"
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

static void nvsim_mem_release(struct kref *ref)
{
	struct nvsim_mem *mem = container_of(ref, struct nvsim_mem, ref);
	struct page *page;
	unsigned long index;

	xa_for_each(&mem->pages, index, page) {
		if (mem->where == NVSIM_MEM_USER)
			unpin_user_pages_dirty_lock(&page, 1, true);
		else
			__free_page(page);
		cond_resched();
	}
	xa_destroy(&mem->pages);
	if (mem->account)
		nvsim_books_give(mem->account, mem->size);
	kfree(mem);
}

void nvsim_mem_put(struct nvsim_mem *mem)
{
	kref_put(&mem->ref, nvsim_mem_release);
}

struct page *nvsim_mem_page(struct nvsim_mem *mem, pgoff_t index, bool create)
{
	struct page *page = xa_load(&mem->pages, index);

	/* A page stays until release, so a found one needs no lock. */
	if (page || !create || mem->where == NVSIM_MEM_USER || index >= mem->size >> PAGE_SHIFT)
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
