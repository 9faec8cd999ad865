// SPDX-License-Identifier: GPL-2.0-only
/* The GPUs of this machine: identity, lookup, who has which one open. */
#include <linux/fdtable.h>
#include <linux/file.h>

#include "usage.h"

struct nvsim_gpu nvsim_gpus[NVSIM_MAX_GPUS];

struct nvsim_gpu *nvsim_gpu_by_id(u32 gpu_id)
{
	unsigned int i;

	for (i = 0; i < nvsim_config.gpus; i++)
		if (nvsim_gpus[i].gpu_id == gpu_id)
			return &nvsim_gpus[i];
	return NULL;
}

struct nvsim_gpu *nvsim_gpu_by_uuid(const u8 uuid[16])
{
	unsigned int i;

	for (i = 0; i < nvsim_config.gpus; i++)
		if (!memcmp(nvsim_gpus[i].uuid, uuid, sizeof(nvsim_gpus[i].uuid)))
			return &nvsim_gpus[i];
	return NULL;
}

size_t nvsim_gpu_uuid_string(const struct nvsim_gpu *gpu, char *buf, size_t size)
{
	return snprintf(buf, size, "GPU-%pUb", gpu->uuid) + 1;
}

static int nvsim_match_gpu(const void *data, struct file *file, unsigned int fd)
{
	const struct nvsim_gpu *gpu = data;
	dev_t rdev = file_inode(file)->i_rdev;
	struct nvsim_file *nvf;

	/* 535 kernel-open/nvidia/nv.c, nv_match_dev_state: major and private_data, not f_op. */
	if (MAJOR(rdev) != NVSIM_MAJOR || MINOR(rdev) == NVSIM_MINOR_CTL)
		return 0;
	nvf = nvsim_file(file);
	return nvf && nvf->gpu == gpu;
}

bool nvsim_gpu_accessible(const struct nvsim_gpu *gpu)
{
	return iterate_fd(current->files, 0, nvsim_match_gpu, gpu) != 0;
}

int nvsim_gpus_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < nvsim_config.gpus; i++) {
		struct nvsim_gpu *gpu = &nvsim_gpus[i];

		gpu->index = i;
		gpu->gpu_id = NVSIM_GPU_ID(i);
		gpu->bus = i + 1;
		gpu->vram = nvsim_config.vram[i];
		gpu->reserve = nvsim_config.reserve;
		snprintf(gpu->name, sizeof(gpu->name), "NVIDIA SimGPU %u", i);
		memcpy(gpu->uuid, "NVSIM\0\x40\0\x80\0\0\0\0\0\0", 15);
		gpu->uuid[15] = i + 1;
		err = nvsim_engine_start(gpu);
		if (err)
			goto err_stop;
	}
	return 0;

err_stop:
	while (i--)
		nvsim_engine_stop(&nvsim_gpus[i]);
	return err;
}

void nvsim_gpus_exit(void)
{
	unsigned int i;

	for (i = nvsim_config.gpus; i--;) {
		nvsim_engine_stop(&nvsim_gpus[i]);
		nvsim_usage_exit(&nvsim_gpus[i]);
	}
}
