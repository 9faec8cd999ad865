// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a device, of memory and of small classes (ctrl0080*.h, ctrl0041.h, ctrl0073*.h). */
#include "control.h"

/* What a GA102 lists: clients look for their engine classes and the one of process lists in it. */
static const u32 nvsim_class_list[] = {
	0xc365, 0xc797, 0xc56f, 0xc7c0, 0xc7b5, 0xc561, 0x9067, 0x902d, 0x90f1, 0x844c,
	0x9072, 0x90ec, 0x90e7, 0x90e6, 0x9074, 0x9096, 0xc076, 0xa06c, 0xa140, 0xc369,
	0x0060, 0x0070, 0x0073, 0x007d, 0x5080, 0x50a0, 0x503b, 0x503c, 0xa081, 0xa084,
	0xc372, 0xc670, 0xc671, 0xc673, 0xc67a, 0xc67b, 0xc67d, 0xc67e, 0xc77f, 0xc7b0,
	0xc7b7, 0xc7fa, 0xcb33, 0x00de, 0xc46f, 0xc461, 0xc36f, 0xc361,
};

/* GPU_GET_CLASSLIST: numClasses@0, list@8; without a list it asks for the number. */
static u32 nvsim_classlist(struct nvsim_control_call *call)
{
	u32 nr = ARRAY_SIZE(nvsim_class_list);

	if (call->list[0]) {
		if (nvsim_get32(call, 0) < nr)
			return NV_ERR_INVALID_PARAM_STRUCT;
		memcpy(call->list[0], nvsim_class_list, sizeof(nvsim_class_list));
	}
	nvsim_put32(call, 0, nr);
	return NV_OK;
}

/* GPU_GET_CLASSLIST_V2: numClasses@0, classList[160]@4. */
static u32 nvsim_classlist_v2(struct nvsim_control_call *call)
{
	memset(call->params, 0, call->params_size);
	nvsim_put32(call, 0, ARRAY_SIZE(nvsim_class_list));
	memcpy(call->params + 4, nvsim_class_list, sizeof(nvsim_class_list));
	return NV_OK;
}

/* NV0041 GET_SURFACE_INFO: number@0, {index, data} list@8. */
static u32 nvsim_surface_info(struct nvsim_control_call *call)
{
	const struct nvsim_mem *mem = call->obj->mem;
	const struct nvsim_info known[] = {
		{ 7, mem->size >> 12 },					/* PHYS_SIZE, in 4 KiB */
		{ 9, mem->where == NVSIM_MEM_DEVICE ? 2 : 1 },		/* ADDR_SPACE_TYPE */
	};

	nvsim_fill_info(call->list[0], call->list_size[0] / sizeof(struct nvsim_info), known,
			ARRAY_SIZE(known));
	return NV_OK;
}

static const struct nvsim_words nvsim_one[] = { { 0, 1 } };

static const struct nvsim_control nvsim_rows[] = {
	{
		.cmd = 0x410110, .params_size = 16, .handler = nvsim_surface_info,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = sizeof(struct nvsim_info),
			  .copy_in = true, .max = 64 },
		},
	},
	NVSIM_ZEROS(0x730102, 12),	/* SYSTEM_GET_NUM_HEADS */
	NVSIM_ZEROS(0x730120, 12),	/* SYSTEM_GET_SUPPORTED: no display */
	NVSIM_ZEROS(0x730122, 16),	/* SYSTEM_GET_CONNECT_STATE: nor one plugged in */
	{
		.cmd = 0x800201, .params_size = 16, .handler = nvsim_classlist,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = sizeof(u32), .max = 512 },
		},
	},
	NVSIM_WORDS(0x800280, 4, nvsim_one),	/* GPU_GET_NUM_SUBDEVICES */
	NVSIM_WORDS(0x800288, 4, nvsim_one),	/* GPU_QUERY_SW_STATE_PERSISTENCE: 1 is off */
	NVSIM_ZEROS(0x800289, 4),	/* GET_VIRTUALIZATION_MODE */
	NVSIM_ZEROS(0x80028e, 1),	/* GET_VGX_CAPS */
	NVSIM_CALL(0x800292, 644, nvsim_classlist_v2),
	NVSIM_ZEROS(0x800294, 4),	/* GET_BRAND_CAPS */
	NVSIM_ZEROS(0x801307, 3),	/* FB_GET_CAPS_V2 */
	NVSIM_ZEROS(0x801402, 3),	/* HOST_GET_CAPS_V2 */
	NVSIM_ECHO(0x809909, 1),					/* no public name */
	NVSIM_ZEROS(0xcb330101, 5),	/* conf. compute: off */
};

const struct nvsim_control_table nvsim_device_controls = { nvsim_rows, ARRAY_SIZE(nvsim_rows) };
