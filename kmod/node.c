// SPDX-License-Identifier: GPL-2.0-only
/* Open files of nodes: opened by the driver, on our own struct file, with our own operations. */

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "netlink.h"
#include "node.h"
#include "seal.h"
#include "tenant.h"
#include "trace.h"
#include "uvm.h"

static DEFINE_HASHTABLE(vgpu_files, 12);
static DEFINE_SPINLOCK(vgpu_files_lock);

/* The caller holds a reference on @file, so what is found stays. */
struct vgpu_file *vgpu_file_of(struct file *file)
{
	struct vgpu_file *vf, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(vgpu_files, vf, hash, (unsigned long)file)
		if (vf->file == file) {
			found = vf;
			break;
		}
	rcu_read_unlock();
	return found;
}

/*
 * Counted before the driver sees the file: whoever removes the tenant finds either a file or none.
 */
static int vgpu_file_begin(struct vgpu_tenant *tenant)
{
	int ret = 0;

	spin_lock(&tenant->lock);
	if (tenant->dead)
		ret = -ENODEV;
	else
		tenant->nr_files++;
	spin_unlock(&tenant->lock);
	return ret;
}

static void vgpu_file_end(struct vgpu_tenant *tenant)
{
	spin_lock(&tenant->lock);
	tenant->nr_files--;
	spin_unlock(&tenant->lock);
}

static void vgpu_file_publish(struct vgpu_file *vf)
{
	struct vgpu_tenant *tenant = vf->node->tenant;

	spin_lock(&vgpu_files_lock);
	hash_add_rcu(vgpu_files, &vf->hash, (unsigned long)vf->file);
	spin_unlock(&vgpu_files_lock);
	spin_lock(&tenant->lock);
	list_add_tail(&vf->link, &tenant->files);
	spin_unlock(&tenant->lock);
}

static void vgpu_file_free(struct vgpu_file *vf)
{
	put_pid(vf->opener);
	kfree_rcu(vf, rcu);
}

static int vgpu_file_open(struct vgpu_file *vf, struct inode *inode, char *reason)
{
	struct vgpu_node *node = vf->node;
	struct vgpu_tenant *tenant = node->tenant;
	struct vgpu_slice *slice = NULL;
	int ret;

	if (node->kind == VGPU_NODE_GPU)
		slice = &tenant->slices[node->index];
	ret = vgpu_backing_get(&vf->drv, node->kind, slice, reason);
	if (ret)
		return ret;

	/*
	 * The same for every file of the node: as long as one is open the driver stays, and as long
	 * as the driver stays its answer does. A file that is being opened pins it too.
	 */
	spin_lock(&tenant->lock);
	node->drv = vf->drv;
	inode->i_rdev = vf->drv.dev;
	spin_unlock(&tenant->lock);

	if (node->kind == VGPU_NODE_UVM) {
		ret = vgpu_uvm_open(vf);
		if (ret)
			goto put;
	}
	ret = vgpu_backing_open(&vf->drv, inode, vf->file);
	if (ret) {
		if (vf->uvm)
			vgpu_uvm_release(vf);
		goto put;
	}
	return 0;

put:
	vgpu_backing_put(&vf->drv);
	return ret;
}

int vgpu_node_open(struct inode *inode, struct file *file)
{
	struct vgpu_node *node = inode->i_private;
	struct vgpu_tenant *tenant = node->tenant;
	char reason[VGPU_REASON_LEN] = "";
	struct vgpu_file *vf;
	int ret;

	ret = vgpu_file_begin(tenant);
	if (ret)
		goto out;
	vf = kzalloc(sizeof(*vf), GFP_KERNEL_ACCOUNT);
	if (!vf) {
		ret = -ENOMEM;
		goto end;
	}
	vf->file = file;
	vf->node = node;
	vf->opener = get_pid(task_tgid(current));

	ret = vgpu_file_open(vf, inode, reason);
	if (ret) {
		vgpu_file_free(vf);
		goto end;
	}
	vgpu_file_publish(vf);
	trace_vgpu_open(tenant->id, node->kind, node->index, 0);
	return 0;

end:
	vgpu_file_end(tenant);
out:
	trace_vgpu_open(tenant->id, node->kind, node->index, ret);
	if (reason[0]) {
		pr_warn_ratelimited("vgpu: %s: open refused: %s\n", tenant->name, reason);
		vgpu_event(VGPU_NL_EVENT_DENIED, tenant, NULL, 0);
	}
	return ret;
}

/* After the driver's release and after all that hung on the file was given back. */
void vgpu_node_release(struct inode *inode, struct file *file, struct vgpu_file *vf)
{
	struct vgpu_tenant *tenant = vf->node->tenant;
	struct vgpu_driver drv = vf->drv;

	vgpu_seal_release(vf);
	spin_lock(&vgpu_files_lock);
	hash_del_rcu(&vf->hash);
	spin_unlock(&vgpu_files_lock);
	spin_lock(&tenant->lock);
	list_del(&vf->link);
	tenant->nr_files--;
	spin_unlock(&tenant->lock);
	vgpu_file_free(vf);
	vgpu_backing_put(&drv);
}

void vgpu_file_punish(struct vgpu_file *vf)
{
	WRITE_ONCE(vf->shut, true);
	pr_warn_ratelimited("vgpu: %s: pid %d took a sealed argument away and is killed\n",
			    vf->node->tenant->name, task_tgid_nr(current));
	send_sig(SIGKILL, current, 1);
}

__poll_t vgpu_node_poll(struct file *file, struct poll_table_struct *wait)
{
	return vgpu_backing_poll(&vgpu_node_of(file)->drv, file, wait);
}

void vgpu_node_show_fdinfo(struct seq_file *m, struct file *file)
{
	const struct vgpu_node *node = vgpu_node_of(file);

	seq_printf(m, "vgpu-tenant:\t%s\n", node->tenant->name);
	if (node->kind == VGPU_NODE_GPU)
		seq_printf(m, "vgpu-slice:\t%u\n", node->index);
}

/* Names the processes that opened the files; they may have passed them on since. */
void vgpu_files_reason(struct vgpu_tenant *tenant, char *reason)
{
	struct vgpu_file *vf;
	size_t len, shown = 0;
	pid_t last = 0;

	spin_lock(&tenant->lock);
	len = scnprintf(reason, VGPU_REASON_LEN, "%u files of '%s' are open, by pid",
			tenant->nr_files, tenant->name);
	list_for_each_entry(vf, &tenant->files, link) {
		pid_t pid = pid_nr(vf->opener);

		/* Files of a process lie together as a rule: this is for people. */
		if (pid == last)
			continue;
		if (++shown > 16) {
			len += scnprintf(reason + len, VGPU_REASON_LEN - len, " ...");
			break;
		}
		len += scnprintf(reason + len, VGPU_REASON_LEN - len, " %d", pid);
		last = pid;
	}
	spin_unlock(&tenant->lock);
}
