// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a client: which GPUs there are, versions, sharing (ctrl0000*.h of 535.288.01). */
#include <linux/string.h>

#include "control.h"
#include "escape.h"
#include "export.h"
#include "object.h"

#define NVSIM_NO_GPU_ID		0xffffffffU
#define NVSIM_MAX_ATTACHED	32		/* NV0000_CTRL_GPU_MAX_ATTACHED_GPUS */
#define NVSIM_TITLE		"NVIDIA UNIX Open Kernel Module for x86_64 (nvsim)"
#define NVSIM_BRANCH		"rel/gpu_drv/r535/nvsim"

static const char *nvsim_version_string(unsigned int i)
{
	static const char * const others[] = { NVSIM_BRANCH, NVSIM_TITLE };

	return i ? others[i - 1] : nvsim_config.driver;
}

/* SYSTEM_GET_BUILD_VERSION: sizeOfStrings@0, three buffers, two changelist numbers. */
static u32 nvsim_build_version(struct nvsim_control_call *call)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(call->list); i++)
		if (call->list[i] && call->list_size[i])
			strscpy(call->list[i], nvsim_version_string(i), call->list_size[i]);
	return NV_OK;
}

/* SYSTEM_GET_BUILD_VERSION_V2: three arrays of 256 characters. */
static u32 nvsim_build_version_v2(struct nvsim_control_call *call)
{
	unsigned int i;

	memset(call->params, 0, call->params_size);
	for (i = 0; i < 3; i++)
		strscpy(call->params + i * 256, nvsim_version_string(i), 256);
	return NV_OK;
}

static void nvsim_put_ids(u32 *ids, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		ids[i] = i < nvsim_config.gpus ? nvsim_gpus[i].gpu_id : NVSIM_NO_GPU_ID;
}

/* GPU_GET_PROBED_IDS: gpuIds[32]@0, excludedGpuIds[32]@128. */
static u32 nvsim_probed_ids(struct nvsim_control_call *call)
{
	nvsim_put_ids(call->params, NVSIM_MAX_ATTACHED);
	memset(call->params + 128, 0xff, 128);
	return NV_OK;
}

static u32 nvsim_attached_ids(struct nvsim_control_call *call)
{
	nvsim_put_ids(call->params, NVSIM_MAX_ATTACHED);
	return NV_OK;
}

/* GPU_ATTACH_IDS: gpuIds[32]@0, a single 0x0000ffff stands for all; failedId@128. */
static u32 nvsim_attach_ids(struct nvsim_control_call *call)
{
	const u32 *ids = call->params;
	unsigned int i;

	nvsim_put32(call, 128, NVSIM_NO_GPU_ID);
	for (i = 0; i < NVSIM_MAX_ATTACHED && ids[i] != NVSIM_NO_GPU_ID; i++) {
		if (ids[i] == 0x0000ffff)
			return NV_OK;
		if (!nvsim_gpu_by_id(ids[i]))
			return NV_ERR_INVALID_ARGUMENT;
	}
	return NV_OK;
}

static u32 nvsim_device_ids(struct nvsim_control_call *call)
{
	nvsim_put32(call, 0, GENMASK(nvsim_config.gpus - 1, 0));
	return NV_OK;
}

/*
 * GPU_GET_ID_INFO: gpuId@0 flags@4 deviceInstance@8 subDeviceInstance@12 szName@16/8 sliStatus@24
 * boardId@28 gpuInstance@32 numaId@36.
 */
static u32 nvsim_id_info(struct nvsim_control_call *call)
{
	struct nvsim_gpu *gpu = nvsim_gpu_by_id(nvsim_get32(call, 0));

	if (!gpu)
		return NV_ERR_INVALID_ARGUMENT;
	nvsim_put32(call, 4, 0);
	nvsim_put32(call, 8, gpu->index);
	nvsim_put32(call, 12, 0);
	nvsim_put32(call, 24, 0);
	nvsim_put32(call, 28, gpu->gpu_id);
	nvsim_put32(call, 32, gpu->index);
	nvsim_put32(call, 36, -1);
	return NV_OK;
}

static u32 nvsim_id_info_v2(struct nvsim_control_call *call)
{
	struct nvsim_gpu *gpu = nvsim_gpu_by_id(nvsim_get32(call, 0));

	if (!gpu)
		return NV_ERR_INVALID_ARGUMENT;
	nvsim_put32(call, 4, 0);
	nvsim_put32(call, 8, gpu->index);
	nvsim_put32(call, 12, 0);
	nvsim_put32(call, 16, 0);
	nvsim_put32(call, 20, gpu->gpu_id);
	nvsim_put32(call, 24, gpu->index);
	nvsim_put32(call, 28, -1);
	return NV_OK;
}

/* GPU_GET_PCI_INFO: gpuId@0 domain@4 bus@8/2 slot@10/2. */
static u32 nvsim_pci_info(struct nvsim_control_call *call)
{
	struct nvsim_gpu *gpu = nvsim_gpu_by_id(nvsim_get32(call, 0));

	if (!gpu)
		return NV_ERR_INVALID_ARGUMENT;
	nvsim_put32(call, 4, 0);
	nvsim_put32(call, 8, gpu->bus);
	return NV_OK;
}

static u32 nvsim_put_uuid(const struct nvsim_gpu *gpu, u32 flags, u8 *to, u32 size)
{
	memset(to, 0, size);
	if (flags & 2) {
		memcpy(to, gpu->uuid, sizeof(gpu->uuid));
		return sizeof(gpu->uuid);
	}
	return nvsim_gpu_uuid_string(gpu, to, size);
}

/* GPU_GET_UUID_FROM_GPU_ID: gpuId@0 flags@4 gpuUuid[256]@8 length@264. */
static u32 nvsim_uuid_from_id(struct nvsim_control_call *call)
{
	struct nvsim_gpu *gpu = nvsim_gpu_by_id(nvsim_get32(call, 0));

	if (!gpu)
		return NV_ERR_OBJECT_NOT_FOUND;
	nvsim_put32(call, 264, nvsim_put_uuid(gpu, nvsim_get32(call, 4), call->params + 8, 256));
	return NV_OK;
}

/* GPU_GET_UUID_INFO: gpuUuid[256]@0 flags@256 gpuId@260 deviceInstance@264 subdevice@268. */
static u32 nvsim_uuid_info(struct nvsim_control_call *call)
{
	u32 flags = nvsim_get32(call, 256);
	u8 uuid[256];
	unsigned int i;

	for (i = 0; i < nvsim_config.gpus; i++) {
		u32 len = nvsim_put_uuid(&nvsim_gpus[i], flags, uuid, sizeof(uuid));

		if (!memcmp(uuid, call->params, len)) {
			nvsim_put32(call, 260, nvsim_gpus[i].gpu_id);
			nvsim_put32(call, 264, i);
			nvsim_put32(call, 268, 0);
			return NV_OK;
		}
	}
	return NV_ERR_OBJECT_NOT_FOUND;
}

/* GPU_QUERY_DRAIN_STATE: gpuId@0, drainState@4, flags@8. */
static u32 nvsim_drain_state(struct nvsim_control_call *call)
{
	if (!nvsim_gpu_by_id(nvsim_get32(call, 0)))
		return NV_ERR_INVALID_ARGUMENT;
	nvsim_put32(call, 4, 0);
	nvsim_put32(call, 8, 0);
	return NV_OK;
}

/*
 * CLIENT_GET_ADDR_SPACE_TYPE: hObject@0 mapFlags@4 type@8. Where a client must map an object from:
 * 1 system memory (nvidiactl), 2 video memory and 3 registers (nvidiaN).
 */
static u32 nvsim_addr_space_type(struct nvsim_control_call *call)
{
	struct nvsim_object *obj = nvsim_object_find(call->obj->client, nvsim_get32(call, 0));

	if (!obj)
		return NV_ERR_OBJECT_NOT_FOUND;
	if (obj->class == TURING_USERMODE_A)
		nvsim_put32(call, 8, 3);
	else if (obj->mem)
		nvsim_put32(call, 8, obj->mem->where == NVSIM_MEM_DEVICE ? 2 : 1);
	else
		return NV_ERR_INVALID_OBJECT;
	return NV_OK;
}

static u32 nvsim_inherited_share(struct nvsim_control_call *call)
{
	struct nvsim_client *client = call->obj->client;

	return nvsim_share_set(&client->shared, &client->shared_with, call->params);
}

static const struct nvsim_words nvsim_fabric_skip[] = { { 0, 1 } };

static const struct nvsim_control nvsim_rows[] = {
	{
		.cmd = 0x101, .params_size = 40, .handler = nvsim_build_version,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = 1, .max = 4096 },
			{ .ptr_at = 16, .count_at = 0, .elem_size = 1, .max = 4096 },
			{ .ptr_at = 24, .count_at = 0, .elem_size = 1, .max = 4096 },
		},
	},
	NVSIM_WORDS(0x136, 4, nvsim_fabric_skip),	/* SYSTEM_GET_FABRIC_STATUS */
	NVSIM_CALL(0x13e, 776, nvsim_build_version_v2),
	NVSIM_CALL(0x201, 128, nvsim_attached_ids),
	NVSIM_CALL(0x202, 40, nvsim_id_info),
	NVSIM_CALL(0x204, 4, nvsim_device_ids),
	NVSIM_CALL(0x205, 32, nvsim_id_info_v2),
	NVSIM_CALL(0x214, 256, nvsim_probed_ids),
	NVSIM_CALL(0x215, 132, nvsim_attach_ids),
	NVSIM_ECHO(0x216, 128),				/* GPU_DETACH_IDS */
	NVSIM_CALL(0x21b, 12, nvsim_pci_info),
	NVSIM_CALL(0x274, 272, nvsim_uuid_info),
	NVSIM_CALL(0x275, 268, nvsim_uuid_from_id),
	NVSIM_CALL(0x279, 12, nvsim_drain_state),
	NVSIM_ZEROS(0x27b, 4),	/* GPU_GET_MEMOP_ENABLE */
	NVSIM_ZEROS(0xa04, 2244),	/* SYNC_GPU_BOOST_GROUP_INFO */
	NVSIM_CALL(0xd01, 12, nvsim_addr_space_type),
	NVSIM_CALL(0xd04, 12, nvsim_inherited_share),
	NVSIM_CALL(0x3d05, 24, nvsim_export_to_fd),
	NVSIM_CALL(0x3d06, 20, nvsim_import_from_fd),
	NVSIM_CALL(0x3d08, 76, nvsim_export_info),
};

const struct nvsim_control_table nvsim_root_controls = { nvsim_rows, ARRAY_SIZE(nvsim_rows) };
