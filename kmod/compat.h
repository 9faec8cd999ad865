/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels. The only file that says LINUX_VERSION_CODE; each case names the
 * commit that made the difference and the version it came with.
 */
#ifndef VGPU_COMPAT_H
#define VGPU_COMPAT_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/version.h>

/* b74d24f7a74f "fs: port ->getattr() to pass mnt_idmap", c1632a0f1120 "->setattr()", 6.3 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define vgpu_idmap mnt_idmap
#else
#define vgpu_idmap user_namespace
#endif

/* 0d72b92883c6 "fs: pass the request_mask to generic_fillattr", 6.6 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define vgpu_fillattr(idmap, mask, inode, stat) generic_fillattr(idmap, mask, inode, stat)
#else
#define vgpu_fillattr(idmap, mask, inode, stat) generic_fillattr(idmap, inode, stat)
#endif

static inline void vgpu_inode_init_times(struct inode *inode)
{
/* 077c212f0344 "fs: new accessor methods for atime and mtime", 6.7 (simple_inode_init_ts) */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	simple_inode_init_ts(inode);
#else
	inode->i_ctime = current_time(inode);
	inode->i_mtime = inode->i_ctime;
	inode->i_atime = inode->i_ctime;
#endif
}

static inline void vgpu_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
/* bc292ab00f6c "mm: introduce vma->vm_flags wrapper functions", 6.3 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

#endif /* VGPU_COMPAT_H */
