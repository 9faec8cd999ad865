// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of device memory and doorbells into processes. */
#include "nvsim.h"

u32 nvsim_map_memory(struct nvsim_file *caller, struct nvsim_object *memory,
		     struct nvsim_file *target, u64 offset, u64 length, u32 flags)
{
	return NV_ERR_NOT_SUPPORTED;
}

u32 nvsim_unmap_memory(struct nvsim_file *caller, struct nvsim_object *memory, u64 address)
{
	return NV_ERR_NOT_SUPPORTED;
}

int nvsim_mmap(struct file *file, struct vm_area_struct *vma)
{
	return -EINVAL;
}

void nvsim_mmap_release(struct nvsim_file *nvf)
{
}
