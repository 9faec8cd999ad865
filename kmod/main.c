// SPDX-License-Identifier: GPL-2.0-only
/* Loading and unloading. */

#include <linux/init.h>
#include <linux/module.h>

#include "backing.h"
#include "ctl.h"
#include "frontend.h"
#include "netlink.h"
#include "tenant.h"
#include "vgpufs.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static int __init vgpu_init(void)
{
	int ret;

	vgpu_objects_init();
	ret = vgpu_backing_init();
	if (ret)
		return ret;
	ret = vgpu_netlink_init();
	if (ret)
		goto backing;
	ret = vgpufs_init();
	if (ret)
		goto netlink;
	ret = vgpu_ctl_init();
	if (ret)
		goto fs;
	return 0;

fs:
	vgpufs_exit();
netlink:
	vgpu_netlink_exit();
backing:
	vgpu_backing_exit();
	return ret;
}

static void __exit vgpu_exit(void)
{
	vgpu_ctl_exit();
	vgpufs_exit();
	vgpu_netlink_exit();
	vgpu_backing_exit();
	vgpu_tenants_exit();
	/* Memory of closed files is freed by callbacks that are code of ours. */
	rcu_barrier();
}

module_init(vgpu_init);
module_exit(vgpu_exit);

MODULE_DESCRIPTION("Slices of an NVIDIA GPU: memory and time limits per container");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
