// SPDX-License-Identifier: GPL-2.0-only
/* RM_MAP_MEMORY and RM_MAP_MEMORY_DMA: who may map what; mmap.c and vas.c do the mapping. */
#include <linux/file.h>
#include <linux/overflow.h>
#include <linux/sched.h>

#include "escape.h"
#include "object.h"

/* The memory, register or virtual object that a map call names, with the client checked (F5). */
static u32 nvsim_map_object(struct nvsim_file *file, u32 handle, u32 device, u32 object,
			    struct nvsim_object **result)
{
	struct nvsim_client *client = nvsim_client_of(file, handle);
	struct nvsim_object *dev, *obj;

	if (!client)
		return NV_ERR_INVALID_CLIENT;
	dev = nvsim_object_find(client, device);
	if (!dev || (!dev->gpu && dev != client->root))
		return NV_ERR_INVALID_OBJECT_PARENT;
	obj = nvsim_object_find(client, object);
	if (!obj)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	*result = obj;
	return NV_OK;
}

static u32 nvsim_rm_map_locked(struct nvsim_file *file, u32 handle, u32 device, u32 memory,
			       u64 offset, u64 length, u32 flags, int fd)
{
	struct nvsim_object *obj;
	struct nvsim_file *target;
	struct file *filp;
	u32 status;
	u64 end;

	status = nvsim_map_object(file, handle, device, memory, &obj);
	if (status != NV_OK)
		return status;
	if (!obj->mem && obj->class != TURING_USERMODE_A)
		return NV_ERR_INVALID_OBJECT;
	/* The pages are the caller's own: there is nothing to map that it does not have. */
	if (obj->mem && obj->mem->where == NVSIM_MEM_USER)
		return NV_ERR_NOT_SUPPORTED;
	if (obj->mem && (check_add_overflow(offset, length, &end) || end > obj->mem->size))
		return NV_ERR_INVALID_LIMIT;

	/* F6, 535 osapi.c rm_create_mmap_context: only the process that made the client. */
	if (obj->client->pid != task_tgid(current))
		return NV_ERR_INVALID_CLIENT;

	/* F1, with the node that the address space asks for: system memory is nvidiactl's. */
	filp = nvsim_fget(fd, obj->mem && obj->mem->where != NVSIM_MEM_DEVICE);
	if (!filp)
		return NV_ERR_INVALID_ARGUMENT;
	target = nvsim_file(filp);
	if (target->gpu && target->gpu != obj->gpu)
		status = NV_ERR_INVALID_ARGUMENT;
	else
		status = nvsim_map_memory(file, obj, target, offset, length, flags);
	fput(filp);
	return status;
}

u32 nvsim_rm_map(struct nvsim_file *file, u32 client, u32 device, u32 memory, u64 offset,
		 u64 length, u32 flags, int fd)
{
	u32 status;

	mutex_lock(&nvsim_rm_lock);
	status = nvsim_rm_map_locked(file, client, device, memory, offset, length, flags, fd);
	mutex_unlock(&nvsim_rm_lock);
	return status;
}

int nvsim_esc_map_memory(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos33_with_fd *p = arg;

	p->status = nvsim_rm_map(file, p->hClient, p->hDevice, p->hMemory, p->offset, p->length,
				 p->flags, p->fd);
	return 0;
}

int nvsim_esc_unmap_memory(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos34 *p = arg;
	struct nvsim_object *obj;

	mutex_lock(&nvsim_rm_lock);
	p->status = nvsim_map_object(file, p->hClient, p->hDevice, p->hMemory, &obj);
	if (p->status == NV_OK)
		p->status = nvsim_unmap_memory(file, obj, p->pLinearAddress);
	mutex_unlock(&nvsim_rm_lock);
	return 0;
}

/* 535 osapi.c: tells RM where a mapping moved to. Nothing here is found by its CPU address. */
int nvsim_esc_update_mapping(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos56 *p = arg;
	struct nvsim_object *obj;

	mutex_lock(&nvsim_rm_lock);
	p->status = nvsim_map_object(file, p->hClient, p->hDevice, p->hMemory, &obj);
	mutex_unlock(&nvsim_rm_lock);
	return 0;
}

int nvsim_esc_map_dma(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos46 *p = arg;
	struct nvsim_object *dma, *obj;
	u64 end;

	mutex_lock(&nvsim_rm_lock);
	p->status = nvsim_map_object(file, p->hClient, p->hDevice, p->hDma, &dma);
	if (p->status == NV_OK)
		p->status = nvsim_map_object(file, p->hClient, p->hDevice, p->hMemory, &obj);
	if (p->status == NV_OK) {
		if (!obj->mem)
			p->status = NV_ERR_INVALID_OBJECT;
		else if (check_add_overflow(p->offset, p->length, &end) || end > obj->mem->size)
			p->status = NV_ERR_INVALID_LIMIT;
		else
			p->status = nvsim_map_dma(dma, obj, p->offset, p->length, p->flags,
						  &p->dmaOffset);
	}
	mutex_unlock(&nvsim_rm_lock);
	return 0;
}

int nvsim_esc_unmap_dma(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos47 *p = arg;
	struct nvsim_object *dma, *obj;

	mutex_lock(&nvsim_rm_lock);
	p->status = nvsim_map_object(file, p->hClient, p->hDevice, p->hDma, &dma);
	if (p->status == NV_OK)
		p->status = nvsim_map_object(file, p->hClient, p->hDevice, p->hMemory, &obj);
	if (p->status == NV_OK)
		p->status = nvsim_unmap_dma(dma, obj, p->flags, p->dmaOffset);
	mutex_unlock(&nvsim_rm_lock);
	return 0;
}
