// SPDX-License-Identifier: GPL-2.0-only
/* nvsim: module parameters, start and stop. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "nvsim.h"

static unsigned int gpus = 1;
module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "number of simulated GPUs (1 to 16)");

static char *vram = "16G";
module_param(vram, charp, 0444);
MODULE_PARM_DESC(vram, "memory of the GPUs, e.g. 16G or 16G,80G; the last size holds for the rest");

static char *driver = "535.309.01";
module_param(driver, charp, 0444);
MODULE_PARM_DESC(driver, "driver version that is played; its layouts must be those of 535");

static unsigned int reserve_mb = 512;
module_param(reserve_mb, uint, 0444);
MODULE_PARM_DESC(reserve_mb, "memory of each GPU that the driver keeps for itself, MiB");

static unsigned long block_ns = 1000;
module_param(block_ns, ulong, 0644);
MODULE_PARM_DESC(block_ns, "time that a kernel launch takes per block of its grid's X, ns");

static unsigned long channel_bytes = 1UL << 20;
module_param(channel_bytes, ulong, 0444);
MODULE_PARM_DESC(channel_bytes, "device memory that a channel takes and no ioctl names");

static unsigned long context_bytes = 4UL << 20;
module_param(context_bytes, ulong, 0444);
MODULE_PARM_DESC(context_bytes, "device memory that a compute object takes and no ioctl names");

struct nvsim_config nvsim_config;

u64 nvsim_block_ns(void)
{
	return READ_ONCE(block_ns);
}

static int nvsim_parse_vram(void)
{
	const char *s = vram;
	u64 size = 0;
	unsigned int i;

	for (i = 0; i < gpus; i++) {
		char *end;

		if (*s) {
			size = memparse(s, &end);
			if (end == s || (*end && *end != ',')) {
				pr_err("vram=%s: want sizes such as 16G,80G\n", vram);
				return -EINVAL;
			}
			s = *end ? end + 1 : end;
		}
		/* FB_GET_INFO speaks of KiB in 32 bits. */
		if (size < SZ_64M || size >> 10 > U32_MAX || !IS_ALIGNED(size, SZ_1M)) {
			pr_err("vram=%s: a size must be whole MiB, 64 MiB at least\n", vram);
			return -EINVAL;
		}
		if (size <= nvsim_config.reserve) {
			pr_err("vram=%s: not more than reserve_mb=%u\n", vram, reserve_mb);
			return -EINVAL;
		}
		nvsim_config.vram[i] = size;
	}
	if (*s) {
		pr_err("vram=%s: more sizes than gpus=%u\n", vram, gpus);
		return -EINVAL;
	}
	return 0;
}

static int nvsim_parse_config(void)
{
	if (gpus < 1 || gpus > NVSIM_MAX_GPUS) {
		pr_err("gpus=%u: want 1 to %d\n", gpus, NVSIM_MAX_GPUS);
		return -EINVAL;
	}
	if (strncmp(driver, "535.", 4)) {
		pr_err("driver=%s: only the layouts of 535 are known\n", driver);
		return -EINVAL;
	}
	if (!IS_ALIGNED(channel_bytes, PAGE_SIZE) || !IS_ALIGNED(context_bytes, PAGE_SIZE)) {
		pr_err("channel_bytes and context_bytes must be whole pages\n");
		return -EINVAL;
	}
	nvsim_config.gpus = gpus;
	nvsim_config.reserve = (u64)reserve_mb << 20;
	nvsim_config.channel_bytes = channel_bytes;
	nvsim_config.context_bytes = context_bytes;
	nvsim_config.driver = driver;
	return nvsim_parse_vram();
}

/*
 * Clients of a driver find its version at f_op->owner->version. The kernel kfree()s the string when
 * the module goes, so it must be allocated.
 */
static int nvsim_play_version(void)
{
	const char *version = kstrdup(driver, GFP_KERNEL);

	if (!version)
		return -ENOMEM;
	kfree(THIS_MODULE->version);
	THIS_MODULE->version = version;
	return 0;
}

static int __init nvsim_init(void)
{
	int err;

	err = nvsim_parse_config();
	if (err)
		return err;
	err = nvsim_play_version();
	if (err)
		return err;
	err = nvsim_gpus_init();
	if (err)
		return err;
	err = nvsim_chrdev_init();
	if (err)
		goto err_gpus;
	err = nvsim_uvm_init(nvsim_device_class);
	if (err)
		goto err_chrdev;
	err = nvsim_proc_init();
	if (err)
		goto err_uvm;
	nvsim_debugfs_init();
	return 0;

err_uvm:
	nvsim_uvm_exit();
err_chrdev:
	nvsim_chrdev_exit();
err_gpus:
	nvsim_gpus_exit();
	return err;
}

static void __exit nvsim_exit(void)
{
	nvsim_debugfs_exit();
	nvsim_proc_exit();
	nvsim_uvm_exit();
	nvsim_chrdev_exit();
	nvsim_gpus_exit();
}

module_init(nvsim_init);
module_exit(nvsim_exit);
MODULE_DESCRIPTION("A simulated NVIDIA GPU and its driver");
MODULE_AUTHOR("vgpu authors");
MODULE_VERSION("535.309.01");
MODULE_LICENSE("GPL");
