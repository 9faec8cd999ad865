/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VGPU_NETLINK_H
#define VGPU_NETLINK_H

#include <linux/types.h>
#include <linux/vgpu.h>

struct vgpu_slice;
struct vgpu_tenant;

/* Multicasts an event of the current process. May sleep. @slice: or NULL. */
void vgpu_event(enum vgpu_nl_event event, const struct vgpu_tenant *tenant,
		const struct vgpu_slice *slice, u64 bytes);

int vgpu_netlink_init(void);
void vgpu_netlink_exit(void);

#endif /* VGPU_NETLINK_H */
