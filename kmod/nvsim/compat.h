/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernels from 6.1 on name differently. */
#ifndef NVSIM_COMPAT_H
#define NVSIM_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define nvsim_vm_flags_set	vm_flags_set
#define nvsim_vm_flags_clear	vm_flags_clear
#else
static inline void nvsim_vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void nvsim_vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#endif
