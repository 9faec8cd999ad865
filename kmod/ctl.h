/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VGPU_CTL_H
#define VGPU_CTL_H

int vgpu_ctl_init(void);
void vgpu_ctl_exit(void);

#endif /* VGPU_CTL_H */
