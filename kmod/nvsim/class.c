// SPDX-License-Identifier: GPL-2.0-only
/* The classes that a client can allocate: parents, parameters, what they need and take. */
#include "memory.h"
#include "object.h"

/* Where a handle is inside a parameter struct, for nvsim_class.needs: word offset plus one. */
#define WORD(type, field)	(offsetof(struct type, field) / sizeof(u32) + 1)

static u32 nvsim_device_alloc(struct nvsim_alloc *a)
{
	const struct nv0080_alloc_parameters *p = a->params;

	/* 535 device.c: the device instance picks the GPU, and F2 asks for an open file of it. */
	if (p->deviceId >= nvsim_config.gpus)
		return NV_ERR_INVALID_ARGUMENT;
	if (!nvsim_gpu_accessible(&nvsim_gpus[p->deviceId]))
		return NV_ERR_INSUFFICIENT_PERMISSIONS;
	a->obj->gpu = &nvsim_gpus[p->deviceId];
	return NV_OK;
}

static u32 nvsim_subdevice_alloc(struct nvsim_alloc *a)
{
	const u32 *sub_device_id = a->params;

	return *sub_device_id ? NV_ERR_INVALID_ARGUMENT : NV_OK;
}

static u32 nvsim_event_alloc(struct nvsim_alloc *a)
{
	const struct nv0005_alloc_parameters *p = a->params;

	/* hSrcResource is what is listened to, 0 the parent, as libcuda says it. */
	if (p->hParentClient && p->hParentClient != a->obj->client->handle)
		return NV_ERR_NOT_SUPPORTED;
	return NV_OK;
}

static const struct nvsim_class nvsim_classes[] = {
	{
		.id = NV01_ROOT_CLIENT,
	}, {
		.id = NV01_DEVICE_0,
		.parents = NVSIM_UNDER_ROOT,
		.params_size = sizeof(struct nv0080_alloc_parameters),
		.alloc = nvsim_device_alloc,
		.free = nvsim_device_free,
	}, {
		.id = NV20_SUBDEVICE_0,
		.parents = NVSIM_UNDER_DEVICE,
		.params_size = sizeof(u32),
		.alloc = nvsim_subdevice_alloc,
	}, {
		.id = NV04_DISPLAY_COMMON,
		.parents = NVSIM_UNDER_DEVICE,
	}, {
		.id = NV20_SUBDEVICE_DIAG,
		.parents = NVSIM_UNDER_SUBDEVICE,
	}, {
		.id = GF100_SUBDEVICE_INFOROM,
		.parents = NVSIM_UNDER_SUBDEVICE,
	}, {
		.id = NV_CONFIDENTIAL_COMPUTE,
		.parents = NVSIM_UNDER_ROOT,
		.params_size = sizeof(u32),
	}, {
		.id = NV01_EVENT_OS_EVENT,
		.parents = NVSIM_UNDER_ANY,
		.params_size = sizeof(struct nv0005_alloc_parameters),
		.params_required = true,
		.needs = { WORD(nv0005_alloc_parameters, hSrcResource) },
		.alloc = nvsim_event_alloc,
	}, {
		.id = NV01_MEMORY_LOCAL_USER,
		.parents = NVSIM_UNDER_DEVICE | NVSIM_UNDER_SUBDEVICE,
		.params_size = sizeof(struct nv_memory_allocation_params),
		.params_required = true,
		.alloc = nvsim_vidmem_alloc,
		.free = nvsim_memory_freed,
	}, {
		.id = NV01_MEMORY_SYSTEM,
		.parents = NVSIM_UNDER_DEVICE | NVSIM_UNDER_SUBDEVICE,
		.params_size = sizeof(struct nv_memory_allocation_params),
		.params_required = true,
		.alloc = nvsim_sysmem_alloc,
		.free = nvsim_memory_freed,
	}, {
		/* By RM_ALLOC_MEMORY only: RM_ALLOC would name pages of the kernel's. */
		.id = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR,
		.free = nvsim_memory_freed,
	}, {
		.id = NV01_MEMORY_VIRTUAL,
		.parents = NVSIM_UNDER_DEVICE,
		.params_size = sizeof(struct nv_memory_virtual_allocation_params),
		.needs = { WORD(nv_memory_virtual_allocation_params, hVASpace) },
		.alloc = nvsim_virtual_alloc,
		.free = nvsim_virtual_free,
	}, {
		.id = NV50_MEMORY_VIRTUAL,
		.parents = NVSIM_UNDER_DEVICE,
		.params_size = sizeof(struct nv_memory_allocation_params),
		.params_required = true,
		.needs = { WORD(nv_memory_allocation_params, hVASpace) },
		.alloc = nvsim_reserve_alloc,
		.free = nvsim_reserve_free,
	}, {
		.id = FERMI_VASPACE_A,
		.parents = NVSIM_UNDER_DEVICE,
		.params_size = sizeof(struct nv_vaspace_allocation_parameters),
		.params_required = true,
		.alloc = nvsim_vaspace_alloc,
		.free = nvsim_vaspace_free,
	}, {
		.id = KEPLER_CHANNEL_GROUP_A,
		.parents = NVSIM_UNDER_DEVICE,
		.params_size = sizeof(struct nv_channel_group_allocation_parameters),
		.params_required = true,
		.needs = { WORD(nv_channel_group_allocation_parameters, hVASpace) },
		.alloc = nvsim_group_alloc,
		.free = nvsim_group_free,
	}, {
		.id = FERMI_CONTEXT_SHARE_A,
		.parents = NVSIM_UNDER_GROUP,
		.params_size = sizeof(struct nv_ctxshare_allocation_parameters),
		.params_required = true,
		.needs = { WORD(nv_ctxshare_allocation_parameters, hVASpace) },
		.alloc = nvsim_ctxshare_alloc,
		.free = nvsim_ctxshare_free,
	}, {
		.id = AMPERE_CHANNEL_GPFIFO_A,
		.parents = NVSIM_UNDER_GROUP | NVSIM_UNDER_DEVICE,
		.params_size = sizeof(struct nv_channel_alloc_params),
		.params_required = true,
		.takes = NVSIM_TAKES_CHANNEL,
		.needs = {
			WORD(nv_channel_alloc_params, hVASpace),
			WORD(nv_channel_alloc_params, hContextShare),
			WORD(nv_channel_alloc_params, hUserdMemory),
		},
		.alloc = nvsim_channel_alloc,
		.free = nvsim_channel_free,
	}, {
		.id = AMPERE_COMPUTE_B,
		.parents = NVSIM_UNDER_CHANNEL,
		.params_size = 16,		/* NV_GR_ALLOCATION_PARAMETERS */
		.takes = NVSIM_TAKES_CONTEXT,
		.alloc = nvsim_engobj_alloc,
		.free = nvsim_engobj_free,
	}, {
		.id = AMPERE_B,
		.parents = NVSIM_UNDER_CHANNEL,
		.params_size = 16,
		.takes = NVSIM_TAKES_CONTEXT,
		.alloc = nvsim_engobj_alloc,
		.free = nvsim_engobj_free,
	}, {
		.id = AMPERE_DMA_COPY_B,
		.parents = NVSIM_UNDER_CHANNEL,
		.params_size = 8,		/* NVB0B5_ALLOCATION_PARAMETERS */
		.alloc = nvsim_engobj_alloc,
		.free = nvsim_engobj_free,
	}, {
		.id = TURING_USERMODE_A,
		.parents = NVSIM_UNDER_SUBDEVICE,
		.alloc = nvsim_usermode_alloc,
		.free = nvsim_usermode_free,
	}, {
		.id = GT200_DEBUGGER,
		.parents = NVSIM_UNDER_DEVICE,
		.params_size = sizeof(struct nv83de_alloc_parameters),
		.params_required = true,
		.needs = { WORD(nv83de_alloc_parameters, hClass3dObject) },
	},
};

const struct nvsim_class *nvsim_class_find(u32 id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvsim_classes); i++)
		if (nvsim_classes[i].id == id)
			return &nvsim_classes[i];
	return NULL;
}

u8 nvsim_class_as_parent(u32 class)
{
	switch (class) {
	case NV01_ROOT_CLIENT:
		return NVSIM_UNDER_ROOT;
	case NV01_DEVICE_0:
		return NVSIM_UNDER_DEVICE;
	case NV20_SUBDEVICE_0:
		return NVSIM_UNDER_SUBDEVICE;
	case KEPLER_CHANNEL_GROUP_A:
		return NVSIM_UNDER_GROUP;
	case AMPERE_CHANNEL_GPFIFO_A:
		return NVSIM_UNDER_CHANNEL;
	case AMPERE_COMPUTE_B:
	case AMPERE_B:
	case AMPERE_DMA_COPY_B:
		return NVSIM_UNDER_ENGINE;
	default:
		return 0;
	}
}

bool nvsim_class_is_root(u32 class)
{
	return class == NV01_ROOT || class == NV01_ROOT_NON_PRIV || class == NV01_ROOT_CLIENT;
}

bool nvsim_class_is_memory(u32 class)
{
	return class == NV01_MEMORY_LOCAL_USER || class == NV01_MEMORY_SYSTEM ||
	       class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR;
}
