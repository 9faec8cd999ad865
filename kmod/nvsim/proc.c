// SPDX-License-Identifier: GPL-2.0-only
/* /proc/driver/nvidia, as far as clients read it. */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "nvsim.h"

#define NVSIM_PROC	"driver/nvidia"

static int nvsim_version_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  (simulated by nvsim)\n",
		   nvsim_config.driver);
	return 0;
}

/*
 * The lines that nvidia-modprobe-utils reads decide whether clients make device nodes and how.
 */
static int nvsim_params_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "ResmanDebugLevel: 4294967295\n"
		    "RmLogonRC: 1\n"
		    "ModifyDeviceFiles: 1\n"
		    "DeviceFileUID: 0\n"
		    "DeviceFileGID: 0\n"
		    "DeviceFileMode: 438\n");
	return 0;
}

static int nvsim_registry_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "Binary: \"\"\n");
	return 0;
}

static int nvsim_information_show(struct seq_file *m, void *unused)
{
	const struct nvsim_gpu *gpu = m->private;
	char uuid[NVSIM_UUID_STRING_SIZE];

	nvsim_gpu_uuid_string(gpu, uuid, sizeof(uuid));
	seq_printf(m, "Model: \t\t %s\n", gpu->name);
	seq_puts(m, "IRQ:   \t\t 11\n");
	seq_printf(m, "GPU UUID: \t %s\n", uuid);
	seq_puts(m, "Video BIOS: \t 94.02.53.00.01\n"
		    "Bus Type: \t PCIe\n"
		    "DMA Size: \t 47 bits\n"
		    "DMA Mask: \t 0x7fffffffffff\n");
	seq_printf(m, "Bus Location: \t 0000:%02x:00.0\n", gpu->bus);
	seq_printf(m, "Device Minor: \t %u\n", gpu->index);
	seq_puts(m, "GPU Excluded:\t No\n");
	return 0;
}

static int nvsim_proc_gpu(struct proc_dir_entry *gpus, struct nvsim_gpu *gpu)
{
	struct proc_dir_entry *dir;
	char name[16];

	snprintf(name, sizeof(name), "0000:%02x:00.0", gpu->bus);
	dir = proc_mkdir(name, gpus);
	if (!dir || !proc_create_single_data("information", 0444, dir, nvsim_information_show, gpu))
		return -ENOMEM;
	return 0;
}

int nvsim_proc_init(void)
{
	struct proc_dir_entry *top, *gpus;
	unsigned int i;

	top = proc_mkdir(NVSIM_PROC, NULL);
	if (!top)
		return -ENOMEM;
	gpus = proc_mkdir("gpus", top);
	if (!gpus || !proc_create_single("version", 0444, top, nvsim_version_show) ||
	    !proc_create_single("params", 0444, top, nvsim_params_show) ||
	    !proc_create_single("registry", 0444, top, nvsim_registry_show))
		goto err;
	for (i = 0; i < nvsim_config.gpus; i++)
		if (nvsim_proc_gpu(gpus, &nvsim_gpus[i]))
			goto err;
	return 0;
err:
	nvsim_proc_exit();
	return -ENOMEM;
}

void nvsim_proc_exit(void)
{
	remove_proc_subtree(NVSIM_PROC, NULL);
}
