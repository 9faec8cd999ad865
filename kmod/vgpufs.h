/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VGPU_VGPUFS_H
#define VGPU_VGPUFS_H

int vgpufs_init(void);
void vgpufs_exit(void);

#endif /* VGPU_VGPUFS_H */
