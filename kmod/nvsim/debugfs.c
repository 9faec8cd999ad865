// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug/nvsim: the books, for tests to compare other accounts with. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "books.h"
#include "uvm.h"

static struct dentry *nvsim_debugfs;

/* A JSON object; pids of the initial namespace. */
static void nvsim_account_show(struct seq_file *m, const struct nvsim_account *account)
{
	seq_printf(m, "{\"gpu\":%u,\"client\":\"0x%x\",\"pid\":%d,\"class\":\"0x%x\",",
		   account->gpu->index, account->client, pid_nr(account->pid), account->class);
	seq_printf(m, "\"objects\":%llu,\"bytes\":%llu}\n", account->objects, account->bytes);
}

static int nvsim_books_show(struct seq_file *m, void *unused)
{
	struct nvsim_account *account;

	spin_lock(&nvsim_books_lock);
	list_for_each_entry(account, &nvsim_accounts, link)
		if (account->bytes)
			nvsim_account_show(m, account);
	spin_unlock(&nvsim_books_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nvsim_books);

static int nvsim_used_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%llu\n", nvsim_books_used(m->private));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nvsim_used);

static int nvsim_peak_get(void *gpu, u64 *peak)
{
	*peak = nvsim_books_peak(gpu);
	return 0;
}

/* Whatever is written starts it anew. */
static int nvsim_peak_set(void *gpu, u64 unused)
{
	nvsim_books_reset_peak(gpu);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(nvsim_peak_fops, nvsim_peak_get, nvsim_peak_set, "%llu\n");

void nvsim_debugfs_init(void)
{
	char name[16];
	unsigned int i;

	nvsim_debugfs = debugfs_create_dir("nvsim", NULL);
	debugfs_create_file("books", 0400, nvsim_debugfs, NULL, &nvsim_books_fops);
	debugfs_create_atomic_t("uvm_spaces_own", 0400, nvsim_debugfs, &nvsim_uvm_spaces_own);
	debugfs_create_atomic_t("uvm_spaces_shared", 0400, nvsim_debugfs,
				&nvsim_uvm_spaces_shared);
	for (i = 0; i < nvsim_config.gpus; i++) {
		snprintf(name, sizeof(name), "gpu%u", i);
		nvsim_gpus[i].debugfs = debugfs_create_dir(name, nvsim_debugfs);
		debugfs_create_file("used", 0400, nvsim_gpus[i].debugfs, &nvsim_gpus[i],
				    &nvsim_used_fops);
		debugfs_create_file_unsafe("peak", 0600, nvsim_gpus[i].debugfs, &nvsim_gpus[i],
					   &nvsim_peak_fops);
	}
}

void nvsim_debugfs_exit(void)
{
	debugfs_remove_recursive(nvsim_debugfs);
}
