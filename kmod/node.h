/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nodes (the inodes of vgpufs) and the files opened through them.
 *
 * private_data of an open file is the driver's. What we keep of a file that only nvidiactl and
 * nvidia-uvm need is found by the address of the file; what every ioctl needs hangs on the inode.
 */
#ifndef VGPU_NODE_H
#define VGPU_NODE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/vgpu.h>

#include "backing.h"
#include "core/book.h"

struct vgpu_tenant;
struct vgpu_uvm;
struct vgpu_gpu_view;
struct vgpu_seal;

#define VGPU_MAJOR		195	/* nv-chardev-numbers.h: the same in every version */
#define VGPU_MINOR_CTL		255

/**
 * struct vgpu_node - one inode; i_private
 * @tenant: whose it is
 * @kind: enum vgpu_node_kind
 * @index: number of the tenant's GPU
 * @drv: the driver while files are open, the same for all of them
 */
struct vgpu_node {
	struct vgpu_tenant *tenant;
	u32 kind;
	u32 index;
	struct vgpu_driver drv;
};

/**
 * struct vgpu_file - an open file
 * @hash, @rcu: table of open files
 * @link: in tenant->files
 * @file: the file
 * @node: its node
 * @drv: the driver, with the reference on its module
 * @opener: process that opened it
 * @owner: RM clients made through it
 * @uvm: state of an nvidia-uvm file, else NULL
 * @views: the tenant's GPUs as the driver numbers them, once asked for; of an nvidiactl file
 * @seal: a mapping for sealed arguments, kept for the next call
 * @shut: a caller has cheated through it
 */
struct vgpu_file {
	struct hlist_node hash;
	struct rcu_head rcu;
	struct list_head link;
	struct file *file;
	struct vgpu_node *node;
	struct vgpu_driver drv;
	struct pid *opener;
	struct vgpu_owner owner;
	struct vgpu_uvm *uvm;
	struct vgpu_gpu_view *views;
	struct vgpu_seal *seal;
	bool shut;
};

extern const struct file_operations vgpu_frontend_fops;
extern const struct file_operations vgpu_uvm_fops;

static inline struct vgpu_node *vgpu_node_of(const struct file *file)
{
	return file_inode(file)->i_private;
}

static inline bool vgpu_is_node(const struct file *file)
{
	return file->f_op == &vgpu_frontend_fops || file->f_op == &vgpu_uvm_fops;
}

/* Shared by the operations of frontend.c and uvm.c. */
int vgpu_node_open(struct inode *inode, struct file *file);
struct vgpu_file *vgpu_file_of(struct file *file);
void vgpu_node_release(struct inode *inode, struct file *file, struct vgpu_file *vf);
__poll_t vgpu_node_poll(struct file *file, struct poll_table_struct *wait);
void vgpu_node_show_fdinfo(struct seq_file *m, struct file *file);

/* For the caller, who took a sealed argument away (seal.h). Nobody but an attacker gets there. */
void vgpu_file_punish(struct vgpu_file *vf);

void vgpu_files_reason(struct vgpu_tenant *tenant, char *reason);

#endif /* VGPU_NODE_H */
