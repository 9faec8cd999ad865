// SPDX-License-Identifier: GPL-2.0-only
/* Escapes about nodes and cards, as 535 nv.c answers them, and REGISTER_FD of escape.c. */
#include <linux/file.h>
#include <linux/string.h>

#include "nodes.h"

#define NV_RM_API_VERSION_CMD_STRICT		0
#define NV_RM_API_VERSION_CMD_RELAXED		'1'
#define NV_RM_API_VERSION_CMD_QUERY		'2'
#define NV_RM_API_VERSION_REPLY_RECOGNIZED	1

#define NVSIM_BAR0_SIZE		0x1000000ULL	/* 16 MiB of registers */
#define NVSIM_BAR1_SIZE		0x10000000ULL	/* 256 MiB window on device memory */

int nvsim_esc_card_info(struct nvsim_file *file, void *arg, u32 size)
{
	struct nv_ioctl_card_info *card = arg;
	unsigned int i, nr = size / sizeof(*card);

	memset(arg, 0, size);
	for (i = 0; i < nr && i < nvsim_config.gpus; i++, card++) {
		const struct nvsim_gpu *gpu = &nvsim_gpus[i];

		card->valid = 1;
		card->pci_info.bus = gpu->bus;
		card->pci_info.vendor_id = NVSIM_PCI_VENDOR;
		card->pci_info.device_id = NVSIM_PCI_DEVICE;
		card->gpu_id = gpu->gpu_id;
		card->interrupt_line = 11;
		card->reg_address = 0xf0000000ULL + i * NVSIM_BAR0_SIZE;
		card->reg_size = NVSIM_BAR0_SIZE;
		card->fb_address = 0x6000000000ULL + i * NVSIM_BAR1_SIZE;
		card->fb_size = NVSIM_BAR1_SIZE;
		card->minor_number = i;
	}
	return 0;
}

/*
 * 535 escape.c: the file speaks with the rights of an nvidiactl from now on, and holds it. No file
 * is registered twice, to itself, or to one that is registered itself: no circle of references.
 */
int nvsim_esc_register_fd(struct nvsim_file *file, void *arg, u32 size)
{
	struct file *ctl = nvsim_fget(*(s32 *)arg, true);
	int err = 0;

	if (!ctl)
		return -EINVAL;
	mutex_lock(&nvsim_rm_lock);
	if (file->ctl || nvsim_file(ctl) == file || nvsim_file(ctl)->ctl)
		err = -EINVAL;
	else
		file->ctl = ctl;
	mutex_unlock(&nvsim_rm_lock);
	if (err)
		fput(ctl);
	return err;
}

int nvsim_esc_status_code(struct nvsim_file *file, void *arg, u32 size)
{
	struct nv_ioctl_status_code *p = arg;
	unsigned int i;

	for (i = 0; i < nvsim_config.gpus; i++) {
		if (!p->domain && p->bus == nvsim_gpus[i].bus && !p->slot) {
			p->status = NV_OK;
			return 0;
		}
	}
	return -EINVAL;
}

/* 535 osapi.c, rm_perform_version_check. */
int nvsim_esc_check_version(struct nvsim_file *file, void *arg, u32 size)
{
	struct nv_ioctl_rm_api_version *p = arg;
	const char *ours = nvsim_config.driver;
	size_t len = strnlen(p->versionString, sizeof(p->versionString));
	const char *dot = memchr(p->versionString, '.', len);

	p->reply = NV_RM_API_VERSION_REPLY_RECOGNIZED;
	if (p->cmd != NV_RM_API_VERSION_CMD_QUERY) {
		if (len == strlen(ours) && !memcmp(p->versionString, ours, len))
			return 0;
		if (p->cmd == NV_RM_API_VERSION_CMD_RELAXED && dot &&
		    !strncmp(p->versionString, ours, dot + 1 - p->versionString))
			return 0;
	}
	strscpy_pad(p->versionString, ours, sizeof(p->versionString));
	return p->cmd == NV_RM_API_VERSION_CMD_QUERY ? 0 : -EINVAL;
}

int nvsim_esc_attach_gpus(struct nvsim_file *file, void *arg, u32 size)
{
	const u32 *ids = arg;
	unsigned int i;
	int err = 0;

	if (size % sizeof(*ids))
		return -EINVAL;
	for (i = 0; i < size / sizeof(*ids); i++)
		if (ids[i] && !nvsim_gpu_by_id(ids[i]))
			return -EINVAL;
	/* A file's set is said once (535 nv.c); GPUs here never power down: it holds nothing. */
	mutex_lock(&nvsim_rm_lock);
	if (file->gpus_attached)
		err = -EINVAL;
	file->gpus_attached = true;
	mutex_unlock(&nvsim_rm_lock);
	return err;
}

int nvsim_esc_sys_params(struct nvsim_file *file, void *arg, u32 size)
{
	static u64 memblock_size;
	const u64 *p = arg;
	int err = 0;

	/* 535 nv.c: the first caller says the size of memory blocks, others must agree. */
	mutex_lock(&nvsim_rm_lock);
	if (!memblock_size)
		memblock_size = *p;
	else if (memblock_size != *p)
		err = -EBUSY;
	mutex_unlock(&nvsim_rm_lock);
	return err;
}

int nvsim_esc_numa_info(struct nvsim_file *file, void *arg, u32 size)
{
	struct nv_ioctl_numa_info *p = arg;

	memset(p, 0, sizeof(*p));
	p->nid = -1;
	return 0;
}
