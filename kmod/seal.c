// SPDX-License-Identifier: GPL-2.0-only
/* Sealed arguments; see seal.h. */

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "seal.h"

static vm_fault_t vgpu_seal_fault(struct vm_fault *vmf)
{
	struct vgpu_seal *seal = vmf->vma->vm_private_data;
	unsigned long offset = vmf->pgoff << PAGE_SHIFT;

	if (offset >= seal->size)
		return VM_FAULT_SIGBUS;
	/* Without write permission: vm_page_prot of a mapping with pfn_mkwrite has none. */
	return vmf_insert_pfn(vmf->vma, vmf->address,
			      page_to_pfn(virt_to_page(seal->mem + offset)));
}

/* The first write to each page. */
static vm_fault_t vgpu_seal_mkwrite(struct vm_fault *vmf)
{
	const struct vgpu_seal *seal = vmf->vma->vm_private_data;

	if ((vmf->flags & FAULT_FLAG_USER) || READ_ONCE(seal->task) != current)
		return VM_FAULT_SIGBUS;
	return 0;
}

/* A copy: fork is excluded (VM_DONTCOPY), so this is mremap. */
static void vgpu_seal_vm_open(struct vm_area_struct *vma)
{
	struct vgpu_seal *seal = vma->vm_private_data;

	WRITE_ONCE(seal->broken, true);
}

/* Called with mmap_lock held, before anything else can be mapped at the address. */
static void vgpu_seal_vm_close(struct vm_area_struct *vma)
{
	struct vgpu_seal *seal = vma->vm_private_data;

	if (!READ_ONCE(seal->closing))
		WRITE_ONCE(seal->broken, true);
}

static int vgpu_seal_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static int vgpu_seal_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct vgpu_seal_vm_ops = {
	.open = vgpu_seal_vm_open,
	.close = vgpu_seal_vm_close,
	.may_split = vgpu_seal_may_split,
	.mremap = vgpu_seal_mremap,
	.fault = vgpu_seal_fault,
	.pfn_mkwrite = vgpu_seal_mkwrite,
};

static int vgpu_seal_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vgpu_seal *seal = file->private_data;

	if (seal->mapped || seal->task != current || vma->vm_end - vma->vm_start != seal->size)
		return -EINVAL;
	seal->mapped = true;
	/* VM_PFNMAP keeps get_user_pages out, and with it ptrace, /proc/PID/mem and direct I/O. */
	vgpu_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTCOPY | VM_DONTDUMP);
	vma->vm_private_data = seal;
	vma->vm_ops = &vgpu_seal_vm_ops;
	return 0;
}

/* The last mapping is gone. */
static int vgpu_seal_release(struct inode *inode, struct file *file)
{
	struct vgpu_seal *seal = file->private_data;

	free_pages_exact(seal->mem, seal->size);
	kfree(seal);
	return 0;
}

static const struct file_operations vgpu_seal_fops = {
	.owner = THIS_MODULE,
	.mmap = vgpu_seal_mmap,
	.release = vgpu_seal_release,
};

struct vgpu_seal *vgpu_seal_open(size_t size)
{
	struct vgpu_seal *seal;
	unsigned long addr;
	struct file *file;

	seal = kzalloc(sizeof(*seal), GFP_KERNEL_ACCOUNT);
	if (!seal)
		return ERR_PTR(-ENOMEM);
	seal->size = PAGE_ALIGN(size);
	seal->task = current;
	seal->mem = alloc_pages_exact(seal->size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!seal->mem) {
		kfree(seal);
		return ERR_PTR(-ENOMEM);
	}
	file = anon_inode_getfile("[vgpu]", &vgpu_seal_fops, seal, O_RDWR);
	if (IS_ERR(file)) {
		free_pages_exact(seal->mem, seal->size);
		kfree(seal);
		return ERR_CAST(file);
	}
	addr = vm_mmap(file, 0, seal->size, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	if (IS_ERR_VALUE(addr)) {
		fput(file);
		return ERR_PTR((long)addr);
	}
	seal->file = file;
	seal->addr = addr;
	return seal;
}

bool vgpu_seal_broken(const struct vgpu_seal *seal)
{
	/*
	 * After what the driver read; pairs with the locks between taking a mapping away and the
	 * next.
	 */
	smp_rmb();
	return READ_ONCE(seal->broken);
}

void vgpu_seal_close(struct vgpu_seal *seal)
{
	struct file *file = seal->file;

	WRITE_ONCE(seal->task, NULL);
	WRITE_ONCE(seal->closing, true);
	/*
	 * Not when somebody has moved it: what is there now is not ours. A task that is being
	 * killed may leave the mapping to its exit.
	 */
	if (!READ_ONCE(seal->broken))
		vm_munmap(seal->addr, seal->size);
	fput(file);
}
