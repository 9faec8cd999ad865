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
#include "node.h"
#include "seal.h"

/* Of a mapping that is kept: most calls need one page. */
#define VGPU_SEAL_LENGTH	(8 * PAGE_SIZE)

static vm_fault_t vgpu_seal_fault(struct vm_fault *vmf)
{
	struct vgpu_seal *seal = vmf->vma->vm_private_data;
	unsigned long offset = vmf->pgoff << PAGE_SHIFT;

	if (offset >= seal->length)
		return VM_FAULT_SIGBUS;
	/* Without write permission: vm_page_prot of a mapping with pfn_mkwrite has none. */
	return vmf_insert_pfn(vmf->vma, vmf->address,
			      page_to_pfn(virt_to_page(seal->pages + offset)));
}

/*
 * The first write to each page. Only to those of the call: a request can name the others as the
 * place of some further answer, to have them open before their turn comes.
 */
static vm_fault_t vgpu_seal_mkwrite(struct vm_fault *vmf)
{
	const struct vgpu_seal *seal = vmf->vma->vm_private_data;

	if ((vmf->flags & FAULT_FLAG_USER) || READ_ONCE(seal->task) != current ||
	    vmf->address - seal->addr >= seal->size)
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

	if (seal->mapped || vma->vm_end - vma->vm_start != seal->length)
		return -EINVAL;
	seal->mapped = true;
	/* VM_PFNMAP keeps get_user_pages out, and with it ptrace, /proc/PID/mem and direct I/O. */
	vgpu_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTCOPY | VM_DONTDUMP);
	vma->vm_private_data = seal;
	vma->vm_ops = &vgpu_seal_vm_ops;
	return 0;
}

/* The last mapping is gone. */
static int vgpu_seal_file_release(struct inode *inode, struct file *file)
{
	struct vgpu_seal *seal = file->private_data;

	free_pages_exact(seal->pages, seal->length);
	kfree(seal);
	return 0;
}

static const struct file_operations vgpu_seal_fops = {
	.owner = THIS_MODULE,
	.mmap = vgpu_seal_mmap,
	.release = vgpu_seal_file_release,
};

static struct vgpu_seal *vgpu_seal_make(size_t length)
{
	struct vgpu_seal *seal;
	unsigned long addr;
	struct file *file;

	seal = kzalloc(sizeof(*seal), GFP_KERNEL_ACCOUNT);
	if (!seal)
		return ERR_PTR(-ENOMEM);
	seal->length = length;
	seal->mm = current->mm;
	seal->pages = alloc_pages_exact(length, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!seal->pages) {
		kfree(seal);
		return ERR_PTR(-ENOMEM);
	}
	file = anon_inode_getfile("[vgpu]", &vgpu_seal_fops, seal, O_RDWR);
	if (IS_ERR(file)) {
		free_pages_exact(seal->pages, length);
		kfree(seal);
		return ERR_CAST(file);
	}
	addr = vm_mmap(file, 0, length, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	if (IS_ERR_VALUE(addr)) {
		fput(file);
		return ERR_PTR((long)addr);
	}
	seal->file = file;
	seal->base = addr;
	return seal;
}

/*
 * Takes the mapping away, unless somebody has moved it or this is another process: what is there
 * now is not ours. A task that is being killed may leave it to its exit.
 */
static void vgpu_seal_unmake(struct vgpu_seal *seal)
{
	struct file *file = seal->file;

	WRITE_ONCE(seal->closing, true);
	if (!READ_ONCE(seal->broken) && seal->mm == current->mm)
		vm_munmap(seal->base, seal->length);
	fput(file);
}

/* Takes all pages out of the page table, so that writing to them is asked for again. */
static bool vgpu_seal_recycle(struct vgpu_seal *seal)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool ok;

	mmap_read_lock(mm);
	vma = find_vma_intersection(mm, seal->base, seal->base + 1);
	ok = vma && vma->vm_file == seal->file && vma->vm_start == seal->base;
	if (ok)
		zap_vma_ptes(vma, seal->base, seal->length);
	mmap_read_unlock(mm);
	seal->used = 0;
	return ok;
}

/* The mapping that the file has kept, for this caller alone; or NULL. */
static struct vgpu_seal *vgpu_seal_take(struct vgpu_file *vf, size_t size)
{
	struct vgpu_seal *seal;

	if (size > VGPU_SEAL_LENGTH)
		return NULL;
	seal = xchg(&vf->seal, NULL);
	if (!seal)
		return NULL;
	if (!READ_ONCE(seal->broken)) {
		/* Of another process that has the file too: it will need it again. */
		if (seal->mm != current->mm) {
			if (cmpxchg(&vf->seal, NULL, seal))
				vgpu_seal_unmake(seal);
			return NULL;
		}
		if (seal->length - seal->used >= size || vgpu_seal_recycle(seal))
			return seal;
	}
	vgpu_seal_unmake(seal);
	return NULL;
}

struct vgpu_seal *vgpu_seal_open(struct vgpu_file *vf, size_t size)
{
	struct vgpu_seal *seal;

	size = PAGE_ALIGN(size);
	seal = vgpu_seal_take(vf, size);
	if (!seal) {
		seal = vgpu_seal_make(max(size, VGPU_SEAL_LENGTH));
		if (IS_ERR(seal))
			return seal;
	}
	seal->mem = seal->pages + seal->used;
	seal->addr = seal->base + seal->used;
	seal->size = size;
	seal->used += size;
	memset(seal->mem, 0, size);
	WRITE_ONCE(seal->task, current);
	return seal;
}

bool vgpu_seal_broken(const struct vgpu_seal *seal)
{
	/* After what the driver read; pairs with the locks between unmapping and mapping anew. */
	smp_rmb();
	return READ_ONCE(seal->broken);
}

void vgpu_seal_close(struct vgpu_file *vf, struct vgpu_seal *seal)
{
	WRITE_ONCE(seal->task, NULL);
	if (seal->length == VGPU_SEAL_LENGTH && !READ_ONCE(seal->broken) &&
	    !cmpxchg(&vf->seal, NULL, seal))
		return;
	vgpu_seal_unmake(seal);
}

void vgpu_seal_release(struct vgpu_file *vf)
{
	if (vf->seal)
		vgpu_seal_unmake(vf->seal);
}
