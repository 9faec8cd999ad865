// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "report.h"

/* src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h */
#define NO_ID		0xffffffffu
#define ATTACH_ALL	0x0000ffffu

/* NV2080_CTRL_FB_INFO_INDEX_*, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fb.h */
#define FB_RAM_SIZE			0x07
#define FB_TOTAL_RAM_SIZE		0x08
#define FB_HEAP_SIZE			0x09
#define FB_MAPPABLE_HEAP_SIZE		0x0a
#define FB_TAX_SIZE			0x10
#define FB_LARGEST_FREE_REGION		0x12
#define FB_HEAP_FREE			0x16
#define FB_USABLE_RAM_SIZE		0x20
#define FB_HEAP_OFFLINE_SIZE		0x27
#define FB_PROTECTED_TOTAL		0x33
#define FB_PROTECTED_FREE		0x34

static u64 lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u32 kib(u64 bytes)
{
	return lesser(bytes >> 10, 0xffffffffu);
}

static u64 room(u64 max, u64 cur)
{
	return cur < max ? max - cur : 0;
}

static u32 fb_value(u32 index, u32 real, u32 total, u32 free)
{
	switch (index) {
	case FB_RAM_SIZE:
	case FB_TOTAL_RAM_SIZE:
	case FB_HEAP_SIZE:
	case FB_MAPPABLE_HEAP_SIZE:
	case FB_USABLE_RAM_SIZE:
		return total;
	case FB_TAX_SIZE:
	case FB_HEAP_OFFLINE_SIZE:
		return 0;
	case FB_HEAP_FREE:
	case FB_LARGEST_FREE_REGION:
		return lesser(real, free);
	case FB_PROTECTED_TOTAL:
		return real ? total : 0;
	case FB_PROTECTED_FREE:
		return lesser(real, free);
	default:
		return real;
	}
}

void vgpu_report_fb_list(const struct vgpu_rm_abi *abi, void *list, u32 list_len, u32 count,
			 u64 max, u64 cur)
{
	const struct vgpu_rm_row *item = vgpu_rm_item(abi, VGPU_ITEM_FB_INFO);
	u32 total = kib(max);
	u32 free = kib(room(max, cur));
	u64 index;
	u64 real;
	u8 *at;
	u32 i;

	for (i = 0; i < count && i < list_len / item->size; i++) {
		at = (u8 *)list + i * item->size;
		vgpu_rm_get(item, VGPU_F_INDEX, 0, at, item->size, &index);
		vgpu_rm_get(item, VGPU_F_VALUE, 0, at, item->size, &real);
		real = fb_value(index, real, total, free);
		vgpu_rm_put(item, VGPU_F_VALUE, 0, at, item->size, real);
	}
}

/* The list inside a control's parameters and how many of its elements are used; 0: none. */
static u32 used(const struct vgpu_rm_row *row, const void *buf, u32 len,
		const struct vgpu_rm_field **list)
{
	u64 count = 0;

	*list = vgpu_rm_field(row, VGPU_F_LIST);
	if (!*list || len < (*list)->offset + (u32)(*list)->width * (*list)->count)
		return 0;
	vgpu_rm_get(row, VGPU_F_COUNT, 0, buf, len, &count);
	return lesser(count, (*list)->count);
}

void vgpu_report_fb_info_v2(const struct vgpu_rm_req *req, void *buf, u32 len, u64 max, u64 cur)
{
	const struct vgpu_rm_field *list;
	u32 count = used(req->inner_row, buf, len, &list);

	if (count)
		vgpu_report_fb_list(req->abi, (u8 *)buf + list->offset,
				    list->width * list->count, count, max, cur);
}

void vgpu_report_heap_info(const struct vgpu_rm_req *req, void *buf, u32 len, u64 max, u64 cur)
{
	u64 free = room(max, cur);
	u64 real = 0;

	vgpu_rm_put(req->inner_row, VGPU_F_TOTAL, 0, buf, len, max);
	if (vgpu_rm_get(req->inner_row, VGPU_F_FREE, 0, buf, len, &real))
		vgpu_rm_put(req->inner_row, VGPU_F_FREE, 0, buf, len, lesser(real, free));
	if (vgpu_rm_get(req->inner_row, VGPU_F_VALUE, 0, buf, len, &real))
		vgpu_rm_put(req->inner_row, VGPU_F_VALUE, 0, buf, len, lesser(real, free));
}

static const struct vgpu_gpu_view *by_id(u32 gpu_id, const struct vgpu_gpu_view *gpus, u32 nr_gpus)
{
	u32 i;

	for (i = 0; i < nr_gpus; i++) {
		if (gpus[i].gpu_id == gpu_id)
			return &gpus[i];
	}
	return NULL;
}

u32 vgpu_report_cards(const struct vgpu_rm_abi *abi, void *buf, u32 len,
		      const struct vgpu_gpu_view *gpus, u32 nr_gpus)
{
	const struct vgpu_rm_row *item = vgpu_rm_item(abi, VGPU_ITEM_CARD);
	const struct vgpu_gpu_view *gpu;
	u32 nr = len / item->size;
	u32 kept = 0;
	u64 id;
	u8 *at;
	u8 *to;
	u32 i;

	for (i = 0; i < nr; i++) {
		at = (u8 *)buf + i * item->size;
		vgpu_rm_get(item, VGPU_F_GPU_ID, 0, at, item->size, &id);
		gpu = by_id(id, gpus, nr_gpus);
		if (!gpu || !at[0])
			continue;
		to = (u8 *)buf + kept * item->size;
		if (to != at)
			memcpy(to, at, item->size);
		vgpu_rm_put(item, VGPU_F_MINOR, 0, to, item->size, gpu->minor);
		kept++;
	}
	memset((u8 *)buf + kept * item->size, 0, len - kept * item->size);
	return kept;
}

bool vgpu_report_card_id(const struct vgpu_rm_abi *abi, const void *buf, u32 len, u32 host_minor,
			 u32 *gpu_id)
{
	const struct vgpu_rm_row *item = vgpu_rm_item(abi, VGPU_ITEM_CARD);
	const u8 *at;
	u64 minor;
	u64 id;
	u32 i;

	for (i = 0; i < len / item->size; i++) {
		at = (const u8 *)buf + i * item->size;
		vgpu_rm_get(item, VGPU_F_MINOR, 0, at, item->size, &minor);
		vgpu_rm_get(item, VGPU_F_GPU_ID, 0, at, item->size, &id);
		if (at[0] && minor == host_minor) {
			*gpu_id = id;
			return true;
		}
	}
	return false;
}

static u32 *ids_of(const struct vgpu_rm_field *field, void *buf, u32 len, u32 *nr)
{
	*nr = 0;
	if (field->slot != VGPU_F_LIST || field->width != sizeof(u32) || len < field->offset)
		return NULL;
	*nr = (len - field->offset) / sizeof(u32);
	if (field->count && field->count < *nr)
		*nr = field->count;
	return (u32 *)((u8 *)buf + field->offset);
}

void vgpu_report_ids(const struct vgpu_rm_req *req, void *buf, u32 len,
		     const struct vgpu_gpu_view *gpus, u32 nr_gpus)
{
	const struct vgpu_rm_row *row = req->inner_row;
	u32 kept;
	u32 *ids;
	u32 nr;
	u32 i;
	u32 j;

	for (i = 0; row && i < row->nr_fields; i++) {
		ids = ids_of(&row->fields[i], buf, len, &nr);
		for (j = 0, kept = 0; j < nr; j++) {
			if (ids[j] != NO_ID && by_id(ids[j], gpus, nr_gpus))
				ids[kept++] = ids[j];
		}
		while (kept < nr)
			ids[kept++] = NO_ID;
	}
}

bool vgpu_report_ids_granted(const struct vgpu_rm_req *req, void *buf, u32 len,
			     const struct vgpu_gpu_view *gpus, u32 nr_gpus)
{
	const struct vgpu_rm_row *row = req->op == VGPU_RM_CONTROL ? req->inner_row : req->row;
	const struct vgpu_rm_field *field = vgpu_rm_field(row, VGPU_F_LIST);
	u64 id;
	u32 *ids;
	u32 nr;
	u32 i;

	if (!field)
		return vgpu_rm_get(row, VGPU_F_GPU_ID, 0, buf, len, &id) &&
		       by_id(id, gpus, nr_gpus);
	ids = ids_of(field, buf, len, &nr);
	if (req->control == VGPU_CONTROL_ATTACH_IDS && nr && ids[0] == ATTACH_ALL) {
		for (i = 0; i < nr; i++)
			ids[i] = i < nr_gpus ? gpus[i].gpu_id : NO_ID;
		return true;
	}
	for (i = 0; i < nr && ids[i] != NO_ID; i++) {
		if (!by_id(ids[i], gpus, nr_gpus))
			return false;
	}
	return true;
}

static const struct vgpu_pid_view *by_pid(u32 pid, const struct vgpu_pid_view *pids, u32 nr_pids)
{
	u32 i;

	for (i = 0; i < nr_pids; i++) {
		if (pids[i].pid == pid)
			return &pids[i];
	}
	return NULL;
}

void vgpu_report_pids(const struct vgpu_rm_req *req, void *buf, u32 len,
		      const struct vgpu_pid_view *pids, u32 nr_pids)
{
	const struct vgpu_rm_row *row = req->inner_row;
	const struct vgpu_rm_field *list;
	u32 count = used(row, buf, len, &list);
	u32 kept = 0;
	u64 pid;
	u32 i;

	for (i = 0; i < count; i++) {
		if (vgpu_rm_get(row, VGPU_F_LIST, i, buf, len, &pid) && by_pid(pid, pids, nr_pids))
			vgpu_rm_put(row, VGPU_F_LIST, kept++, buf, len, pid);
	}
	for (i = kept; i < count; i++)
		vgpu_rm_put(row, VGPU_F_LIST, i, buf, len, 0);
	vgpu_rm_put(row, VGPU_F_COUNT, 0, buf, len, kept);
}

void vgpu_report_pid_info(const struct vgpu_rm_req *req, void *buf, u32 len,
			  const struct vgpu_pid_view *pids, u32 nr_pids)
{
	const struct vgpu_rm_row *item = vgpu_rm_item(req->abi, VGPU_ITEM_PID_INFO);
	const struct vgpu_rm_field *memory = vgpu_rm_field(item, VGPU_F_MEMORY);
	const struct vgpu_pid_view *view;
	const struct vgpu_rm_field *list;
	u32 count = used(req->inner_row, buf, len, &list);
	u64 pid;
	u8 *at;
	u32 i;
	u32 j;

	for (i = 0; i < count; i++) {
		at = (u8 *)buf + list->offset + i * item->size;
		vgpu_rm_get(item, VGPU_F_PID, 0, at, item->size, &pid);
		view = by_pid(pid, pids, nr_pids);
		for (j = 0; j < memory->count; j++)
			vgpu_rm_put(item, VGPU_F_MEMORY, j, at, item->size,
				    view && !j ? view->bytes : 0);
	}
}
