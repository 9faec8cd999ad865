/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver behind the nodes. backing.c is the only file that opens or calls it.
 *
 * Its operations are taken from a private special inode, so neither a name below /dev nor the
 * caller's root matters; its module is pinned by each open file and by nothing else.
 */
#ifndef VGPU_BACKING_H
#define VGPU_BACKING_H

#include <linux/fs.h>
#include <linux/vgpu.h>

#include "abi/rm.h"

enum vgpu_node_kind {
	VGPU_NODE_CTL,
	VGPU_NODE_GPU,
	VGPU_NODE_UVM,
};

struct vgpu_slice;

/**
 * struct vgpu_driver - what is behind a node
 * @fops: the driver's operations
 * @abi: its tables
 * @dev: device number that the driver is to see
 */
struct vgpu_driver {
	const struct file_operations *fops;
	const struct vgpu_rm_abi *abi;
	dev_t dev;
};

/* 0 with a reference on the module, or -ENODEV with the reason. @slice: for VGPU_NODE_GPU. */
int vgpu_backing_get(struct vgpu_driver *drv, enum vgpu_node_kind kind,
		     struct vgpu_slice *slice, char *reason);
void vgpu_backing_put(const struct vgpu_driver *drv);

/*
 * The driver's version, in a field of VGPU_VERSION_LEN bytes; the driver is pinned by the caller.
 */
void vgpu_backing_version(const struct vgpu_driver *drv, char *version);

/* Minor number that the driver gives the GPU of a slice, or a negative errno with the reason. */
int vgpu_backing_minor(struct vgpu_slice *slice, char *reason);

/* State (VGPU_DRIVER_*), version and reason for people. */
u32 vgpu_backing_state(char *version, char *reason);
/* Major number of nvidia-uvm now, 0 when there is none. */
unsigned int vgpu_backing_uvm_major(void);

/* The calls. @file was opened by vgpu_backing_open(). */
int vgpu_backing_open(const struct vgpu_driver *drv, struct inode *inode, struct file *file);
void vgpu_backing_release(const struct vgpu_driver *drv, struct inode *inode, struct file *file);
long vgpu_backing_ioctl(const struct vgpu_driver *drv, struct file *file, unsigned int cmd,
			unsigned long arg);
int vgpu_backing_mmap(const struct vgpu_driver *drv, struct file *file,
		      struct vm_area_struct *vma);
__poll_t vgpu_backing_poll(const struct vgpu_driver *drv, struct file *file,
			   struct poll_table_struct *wait);

int vgpu_backing_init(void);
void vgpu_backing_exit(void);

#endif /* VGPU_BACKING_H */
