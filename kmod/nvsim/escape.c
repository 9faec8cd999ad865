// SPDX-License-Identifier: GPL-2.0-only
/* ioctl() on nvidiactl and nvidiaN: copy in, dispatch by number and size, copy back. */
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "escape.h"
#include "nodes.h"

#define NVSIM_MAX_ARG	16384		/* NV_ABSOLUTE_MAX_IOCTL_SIZE, 535 nv.h */

#define NVSIM_ON_CTL	BIT(0)
#define NVSIM_ON_GPU	BIT(1)

struct nvsim_escape {
	u8 nr;
	u8 nodes;
	u16 size;		/* 0: the function checks it */
	nvsim_escape_fn fn;
};

/* Which node and size: 535 escape.c (RmIoctl) and nv.c (nvidia_ioctl). */
static const struct nvsim_escape nvsim_escapes[] = {
	{ NV_ESC_RM_ALLOC_MEMORY, NVSIM_ON_GPU, sizeof(struct nvos02_with_fd),
	  nvsim_esc_alloc_memory },
	{ NV_ESC_RM_FREE, NVSIM_ON_CTL, sizeof(struct nvos00), nvsim_esc_free },
	{ NV_ESC_RM_CONTROL, NVSIM_ON_CTL, sizeof(struct nvos54), nvsim_esc_control },
	{ NV_ESC_RM_ALLOC, NVSIM_ON_CTL | NVSIM_ON_GPU, 0, nvsim_esc_alloc },
	{ NV_ESC_RM_DUP_OBJECT, NVSIM_ON_CTL, sizeof(struct nvos55), nvsim_esc_dup },
	{ NV_ESC_RM_SHARE, NVSIM_ON_CTL, sizeof(struct nvos57), nvsim_esc_share },
	{ NV_ESC_RM_VID_HEAP_CONTROL, NVSIM_ON_CTL, sizeof(struct nvos32), nvsim_esc_vid_heap },
	{ NV_ESC_RM_MAP_MEMORY, NVSIM_ON_CTL, sizeof(struct nvos33_with_fd), nvsim_esc_map_memory },
	{ NV_ESC_RM_UNMAP_MEMORY, NVSIM_ON_CTL, sizeof(struct nvos34), nvsim_esc_unmap_memory },
	{ NV_ESC_RM_MAP_MEMORY_DMA, NVSIM_ON_CTL, sizeof(struct nvos46), nvsim_esc_map_dma },
	{ NV_ESC_RM_UNMAP_MEMORY_DMA, NVSIM_ON_CTL, sizeof(struct nvos47), nvsim_esc_unmap_dma },
	{ NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO, NVSIM_ON_CTL, sizeof(struct nvos56),
	  nvsim_esc_update_mapping },
	{ NV_ESC_CARD_INFO, NVSIM_ON_CTL, 0, nvsim_esc_card_info },
	{ NV_ESC_REGISTER_FD, NVSIM_ON_CTL | NVSIM_ON_GPU, sizeof(s32), nvsim_esc_register_fd },
	{ NV_ESC_ALLOC_OS_EVENT, NVSIM_ON_CTL | NVSIM_ON_GPU, sizeof(struct nv_ioctl_os_event),
	  nvsim_esc_alloc_os_event },
	{ NV_ESC_FREE_OS_EVENT, NVSIM_ON_CTL | NVSIM_ON_GPU, sizeof(struct nv_ioctl_os_event),
	  nvsim_esc_free_os_event },
	{ NV_ESC_STATUS_CODE, NVSIM_ON_CTL, sizeof(struct nv_ioctl_status_code),
	  nvsim_esc_status_code },
	{ NV_ESC_CHECK_VERSION_STR, NVSIM_ON_CTL, sizeof(struct nv_ioctl_rm_api_version),
	  nvsim_esc_check_version },
	{ NV_ESC_ATTACH_GPUS_TO_FD, NVSIM_ON_CTL, 0, nvsim_esc_attach_gpus },
	{ NV_ESC_SYS_PARAMS, NVSIM_ON_CTL, sizeof(u64), nvsim_esc_sys_params },
	{ NV_ESC_NUMA_INFO, NVSIM_ON_GPU, sizeof(struct nv_ioctl_numa_info), nvsim_esc_numa_info },
};

static const struct nvsim_escape *nvsim_escape_find(u32 nr, const struct nvsim_file *file, u32 size)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvsim_escapes); i++) {
		const struct nvsim_escape *e = &nvsim_escapes[i];

		if (e->nr == nr)
			return e->nodes & (file->gpu ? NVSIM_ON_GPU : NVSIM_ON_CTL) &&
			       (!e->size || e->size == size) ? e : NULL;
	}
	return NULL;
}

/* Like 535's nvidia_ioctl(): neither the type nor the direction of cmd matters. */
long nvsim_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	u32 nr = _IOC_NR(cmd), size = _IOC_SIZE(cmd);
	const struct nvsim_escape *escape;
	struct nv_ioctl_xfer xfer;
	void *copy;
	int err;

	if (nr == NV_ESC_IOCTL_XFER_CMD) {
		if (size != sizeof(xfer))
			return -EINVAL;
		if (copy_from_user(&xfer, user, sizeof(xfer)))
			return -EFAULT;
		nr = xfer.cmd;
		size = xfer.size;
		user = u64_to_user_ptr(xfer.ptr);
		if (size > NVSIM_MAX_ARG)
			return -EINVAL;
	}
	escape = nvsim_escape_find(nr, nvsim_file(file), size);
	if (!escape || !size)
		return -EINVAL;

	copy = kmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return -ENOMEM;
	if (copy_from_user(copy, user, size)) {
		err = -EFAULT;
		goto out;
	}
	err = escape->fn(nvsim_file(file), copy, size);
	/* Refusals have something to say too, such as the driver's version. */
	if (copy_to_user(user, copy, size))
		err = -EFAULT;
out:
	kfree(copy);
	return err;
}
