// SPDX-License-Identifier: GPL-2.0-only
/*
 * vgpufs: the nodes of one tenant, one superblock a tenant.
 *
 * A node is a FIFO inode with the number of the driver's device in i_rdev, and says in stat(2) that
 * it is a character device with the tenant's number. The kernel asks the device cgroup and "nodev"
 * only for character and block inodes (include/linux/device_cgroup.h, fs/namei.c may_open), so a
 * container needs no rule for the node and a raw device made with mknod stays shut. The driver
 * looks at i_rdev of the file's inode (535 nv.c nv_get_file_private) and finds what it expects.
 */

#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include <linux/vgpu.h>

#include "backing.h"
#include "compat.h"
#include "node.h"
#include "tenant.h"
#include "vgpufs.h"

#define VGPUFS_MAGIC		0x76677075	/* "vgpu" */

static int vgpufs_getattr(struct vgpu_idmap *idmap, const struct path *path, struct kstat *stat,
			  u32 mask, unsigned int flags)
{
	struct inode *inode = d_inode(path->dentry);
	const struct vgpu_node *node = inode->i_private;

	vgpu_fillattr(idmap, mask, inode, stat);
	stat->mode = S_IFCHR | (inode->i_mode & ~S_IFMT);
	switch (node->kind) {
	case VGPU_NODE_CTL:
		stat->rdev = MKDEV(VGPU_MAJOR, VGPU_MINOR_CTL);
		break;
	case VGPU_NODE_GPU:
		stat->rdev = MKDEV(VGPU_MAJOR, node->index);
		break;
	default:
		/* Programs compare it with /proc/devices. */
		stat->rdev = MKDEV(vgpu_backing_uvm_major(), 0);
	}
	return 0;
}

/* The inode is shared by every container that the tenant's nodes are bound into. */
static int vgpufs_setattr(struct vgpu_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	return -EPERM;
}

static const struct inode_operations vgpufs_node_iops = {
	.getattr = vgpufs_getattr,
	.setattr = vgpufs_setattr,
};

static const struct inode_operations vgpufs_dir_iops = {
	.lookup = simple_lookup,
	.setattr = vgpufs_setattr,
};

static void vgpufs_evict_inode(struct inode *inode)
{
	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	kfree(inode->i_private);
}

static int vgpufs_show_options(struct seq_file *m, struct dentry *root)
{
	const struct vgpu_tenant *tenant = root->d_sb->s_fs_info;

	seq_show_option(m, VGPU_FS_OPT_TENANT, tenant->name);
	return 0;
}

static const struct super_operations vgpufs_sops = {
	.statfs = simple_statfs,
	.drop_inode = generic_delete_inode,
	.evict_inode = vgpufs_evict_inode,
	.show_options = vgpufs_show_options,
};

static int vgpufs_add_node(struct super_block *sb, const char *name, enum vgpu_node_kind kind,
			   u32 index)
{
	struct vgpu_node *node;
	struct dentry *dentry;
	struct inode *inode;

	inode = new_inode(sb);
	if (!inode)
		return -ENOMEM;
	node = kzalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
	if (!node) {
		iput(inode);
		return -ENOMEM;
	}
	node->tenant = sb->s_fs_info;
	node->kind = kind;
	node->index = index;
	inode->i_private = node;
	inode->i_ino = get_next_ino();
	vgpu_inode_init_times(inode);
	init_special_inode(inode, S_IFIFO | 0666, 0);
	inode->i_op = &vgpufs_node_iops;
	inode->i_fop = kind == VGPU_NODE_UVM ? &vgpu_uvm_fops : &vgpu_frontend_fops;

	dentry = d_alloc_name(sb->s_root, name);
	if (!dentry) {
		iput(inode);
		return -ENOMEM;
	}
	d_add(dentry, inode);
	return 0;
}

static int vgpufs_fill_super(struct super_block *sb, struct fs_context *fc)
{
	const struct vgpu_tenant *tenant = sb->s_fs_info;
	struct inode *root;
	char name[16];
	int ret;
	u32 i;

	sb->s_blocksize = PAGE_SIZE;
	sb->s_blocksize_bits = PAGE_SHIFT;
	sb->s_magic = VGPUFS_MAGIC;
	sb->s_op = &vgpufs_sops;
	sb->s_flags |= SB_NOSUID | SB_NOEXEC;
	sb->s_iflags |= SB_I_NOEXEC;

	root = new_inode(sb);
	if (!root)
		return -ENOMEM;
	root->i_ino = get_next_ino();
	root->i_mode = S_IFDIR | 0555;
	root->i_op = &vgpufs_dir_iops;
	root->i_fop = &simple_dir_operations;
	vgpu_inode_init_times(root);
	set_nlink(root, 2);
	sb->s_root = d_make_root(root);
	if (!sb->s_root)
		return -ENOMEM;

	ret = vgpufs_add_node(sb, "nvidiactl", VGPU_NODE_CTL, 0);
	if (!ret)
		ret = vgpufs_add_node(sb, "nvidia-uvm", VGPU_NODE_UVM, 0);
	for (i = 0; !ret && i < tenant->nr_slices; i++) {
		snprintf(name, sizeof(name), "nvidia%u", i);
		ret = vgpufs_add_node(sb, name, VGPU_NODE_GPU, i);
	}
	return ret;
}

enum {
	VGPUFS_OPT_TENANT,
};

static const struct fs_parameter_spec vgpufs_parameters[] = {
	fsparam_string(VGPU_FS_OPT_TENANT, VGPUFS_OPT_TENANT),
	{}
};

static int vgpufs_parse_param(struct fs_context *fc, struct fs_parameter *param)
{
	struct fs_parse_result result;
	struct vgpu_tenant *tenant;
	int opt;

	opt = fs_parse(fc, vgpufs_parameters, param, &result);
	if (opt < 0)
		return opt;
	if (!vgpu_may_manage())
		return -EPERM;
	if (fc->s_fs_info)
		return invalf(fc, "vgpufs: more than one tenant");
	tenant = vgpu_tenant_find(param->string);
	if (!tenant) {
		errorf(fc, "vgpufs: no tenant '%s'", param->string);
		return -ENOENT;
	}
	fc->s_fs_info = tenant;
	return 0;
}

static int vgpufs_test_super(struct super_block *sb, struct fs_context *fc)
{
	return sb->s_fs_info == fc->s_fs_info;
}

static int vgpufs_get_tree(struct fs_context *fc)
{
	struct super_block *sb;
	int ret;

	if (!vgpu_may_manage())
		return -EPERM;
	if (!fc->s_fs_info)
		return invalf(fc, "vgpufs: option '" VGPU_FS_OPT_TENANT "' is missing");

	sb = sget_fc(fc, vgpufs_test_super, set_anon_super_fc);
	if (IS_ERR(sb))
		return PTR_ERR(sb);
	if (!sb->s_root) {
		ret = vgpufs_fill_super(sb, fc);
		if (ret) {
			deactivate_locked_super(sb);
			return ret;
		}
		sb->s_flags |= SB_ACTIVE;
	}
	fc->root = dget(sb->s_root);
	return 0;
}

static void vgpufs_free_fc(struct fs_context *fc)
{
	if (fc->s_fs_info)
		vgpu_tenant_put(fc->s_fs_info);
}

static const struct fs_context_operations vgpufs_context_ops = {
	.free = vgpufs_free_fc,
	.parse_param = vgpufs_parse_param,
	.get_tree = vgpufs_get_tree,
};

static int vgpufs_init_fs_context(struct fs_context *fc)
{
	fc->ops = &vgpufs_context_ops;
	return 0;
}

static void vgpufs_kill_sb(struct super_block *sb)
{
	struct vgpu_tenant *tenant = sb->s_fs_info;

	kill_litter_super(sb);
	if (tenant->flags & VGPU_CREATE_BOUND)
		vgpu_tenant_retire(tenant);
	vgpu_tenant_put(tenant);
}

/* No FS_USERNS_MOUNT: the kernel itself wants CAP_SYS_ADMIN in the initial user namespace. */
static struct file_system_type vgpufs_type = {
	.owner = THIS_MODULE,
	.name = VGPU_FS_NAME,
	.parameters = vgpufs_parameters,
	.init_fs_context = vgpufs_init_fs_context,
	.kill_sb = vgpufs_kill_sb,
};
MODULE_ALIAS_FS(VGPU_FS_NAME);

int vgpufs_init(void)
{
	return register_filesystem(&vgpufs_type);
}

void vgpufs_exit(void)
{
	unregister_filesystem(&vgpufs_type);
}
