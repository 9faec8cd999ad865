// SPDX-License-Identifier: GPL-2.0-only
/* FB_GET_INFO: sizes of device memory in KiB (ctrl2080fb.h, NV2080_CTRL_FB_INFO_INDEX_*). */
#include <linux/sizes.h>

#include "books.h"
#include "control.h"

#define NVSIM_FB_INDEX_MAX	0x35
#define NVSIM_BAR1_KIB		(SZ_256M >> 10)
#define NVSIM_BAR1_TAKEN_KIB	(6 * 1024)

static u32 nvsim_fb_fill(struct nvsim_gpu *gpu, struct nvsim_info *list, u32 nr)
{
	u32 total = gpu->vram >> 10;
	u32 heap = (gpu->vram - gpu->reserve) >> 10;
	u32 free = heap - (nvsim_books_used(gpu) >> 10);
	const struct nvsim_info known[] = {
		{ 0x05, NVSIM_BAR1_KIB },
		{ 0x07, total },			/* RAM_SIZE */
		{ 0x08, total },			/* TOTAL_RAM_SIZE */
		{ 0x09, heap },				/* HEAP_SIZE */
		{ 0x0a, heap },				/* MAPPABLE_HEAP_SIZE */
		{ 0x0b, 384 },				/* BUS_WIDTH */
		{ 0x0d, 0x11 },				/* RAM_TYPE: GDDR6 */
		{ 0x12, free },				/* LARGEST_FREE_REGION_SIZE_KB */
		{ 0x13, heap - free },			/* LARGEST_FREE_REGION_BASE_KB */
		{ 0x16, free },				/* HEAP_FREE */
		{ 0x19, 6 },				/* FBP_COUNT */
		{ 0x1a, 0x3f },				/* FBP_MASK */
		{ 0x1b, SZ_4M + SZ_2M },		/* L2CACHE_SIZE, bytes */
		{ 0x1d, NVSIM_BAR1_KIB - NVSIM_BAR1_TAKEN_KIB },
		{ 0x1f, NVSIM_BAR1_KIB - NVSIM_BAR1_TAKEN_KIB },
		{ 0x20, heap },				/* USABLE_RAM_SIZE */
		{ 0x22, 12 },				/* LTC_COUNT */
		{ 0x23, 48 },				/* LTS_COUNT */
	};
	u32 i;

	for (i = 0; i < nr; i++)
		if (list[i].index > NVSIM_FB_INDEX_MAX)
			return NV_ERR_INVALID_ARGUMENT;
	nvsim_fill_info(list, nr, known, ARRAY_SIZE(known));
	return NV_OK;
}

static u32 nvsim_fb_info(struct nvsim_control_call *call)
{
	return nvsim_fb_fill(call->obj->gpu, call->list[0],
			     call->list_size[0] / sizeof(struct nvsim_info));
}

static u32 nvsim_fb_info_v2(struct nvsim_control_call *call)
{
	u32 nr = nvsim_get32(call, 0);

	if (nr > (call->params_size - 4) / sizeof(struct nvsim_info))
		return NV_ERR_INVALID_PARAM_STRUCT;
	return nvsim_fb_fill(call->obj->gpu, call->params + 4, nr);
}

static const struct nvsim_control nvsim_rows[] = {
	{	/* FB_GET_INFO: number@0, {index, data} list@8 */
		.cmd = 0x20801301, .params_size = 16, .handler = nvsim_fb_info,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = sizeof(struct nvsim_info),
			  .copy_in = true, .max = NVSIM_FB_INDEX_MAX + 1 },
		},
	},
	{	/* FB_GET_INFO_V2: number@0, {index, data}[54]@4 */
		.cmd = 0x20801303, .params_size = 436, .handler = nvsim_fb_info_v2,
	},
};

const struct nvsim_control_table nvsim_fb_controls = { nvsim_rows, ARRAY_SIZE(nvsim_rows) };
