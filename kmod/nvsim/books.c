// SPDX-License-Identifier: GPL-2.0-only
/* The books: bytes of device memory per GPU, client and class. */
#include <linux/slab.h>

#include "books.h"

DEFINE_SPINLOCK(nvsim_books_lock);
LIST_HEAD(nvsim_accounts);

/* The process is part of the key: what a client left behind is not a later one's of that number. */
static struct nvsim_account *nvsim_account_find(struct nvsim_gpu *gpu, struct nvsim_client *client,
						u32 class)
{
	struct nvsim_account *account;

	list_for_each_entry(account, &nvsim_accounts, link)
		if (account->gpu == gpu && account->client == client->handle &&
		    account->pid == client->pid && account->class == class)
			return account;
	return NULL;
}

u32 nvsim_books_take(struct nvsim_gpu *gpu, struct nvsim_client *client, u32 class, u64 bytes,
		     struct nvsim_account **result)
{
	struct nvsim_account *fresh, *account;
	u32 status = NV_OK;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NV_ERR_NO_MEMORY;

	spin_lock(&nvsim_books_lock);
	if (bytes > gpu->vram - gpu->reserve - gpu->used) {
		status = NV_ERR_NO_MEMORY;
		goto unlock;
	}
	account = nvsim_account_find(gpu, client, class);
	if (!account) {
		account = fresh;
		fresh = NULL;
		account->gpu = gpu;
		account->pid = get_pid(client->pid);
		account->client = client->handle;
		account->class = class;
		list_add_tail(&account->link, &nvsim_accounts);
	}
	account->objects++;
	account->bytes += bytes;
	gpu->used += bytes;
	gpu->peak = max(gpu->peak, gpu->used);
	*result = account;
unlock:
	spin_unlock(&nvsim_books_lock);
	kfree(fresh);
	return status;
}

void nvsim_books_give(struct nvsim_account *account, u64 bytes)
{
	spin_lock(&nvsim_books_lock);
	account->gpu->used -= bytes;
	account->bytes -= bytes;
	if (--account->objects)
		account = NULL;
	else
		list_del(&account->link);
	spin_unlock(&nvsim_books_lock);

	if (account) {
		put_pid(account->pid);
		kfree(account);
	}
}

u64 nvsim_books_used(struct nvsim_gpu *gpu)
{
	u64 used;

	spin_lock(&nvsim_books_lock);
	used = gpu->used;
	spin_unlock(&nvsim_books_lock);
	return used;
}

u64 nvsim_books_peak(struct nvsim_gpu *gpu)
{
	u64 peak;

	spin_lock(&nvsim_books_lock);
	peak = gpu->peak;
	spin_unlock(&nvsim_books_lock);
	return peak;
}

void nvsim_books_reset_peak(struct nvsim_gpu *gpu)
{
	spin_lock(&nvsim_books_lock);
	gpu->peak = gpu->used;
	spin_unlock(&nvsim_books_lock);
}

unsigned int nvsim_books_holders(struct nvsim_gpu *gpu, struct nvsim_holder *holders,
				 unsigned int max)
{
	struct nvsim_account *account;
	unsigned int nr = 0, i;

	spin_lock(&nvsim_books_lock);
	list_for_each_entry(account, &nvsim_accounts, link) {
		if (account->gpu != gpu)
			continue;
		for (i = 0; i < nr && holders[i].pid != account->pid; i++)
			;
		if (i == nr) {
			if (nr == max)
				continue;
			holders[nr].pid = get_pid(account->pid);
			holders[nr++].bytes = 0;
		}
		holders[i].bytes += account->bytes;
	}
	spin_unlock(&nvsim_books_lock);
	return nr;
}
