// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "tables.h"

/* src/common/sdk/nvidia/inc/nvos.h */
#define ALLOC_FLAGS_HANDLE_PROVIDED	0x00004000u
#define ALLOC_FLAGS_VIRTUAL		0x00080000u
#define ATTR_PAGE_SIZE(attr)		(((attr) >> 23) & 3)
#define ATTR_PAGE_SIZE_DEFAULT		0
#define ATTR_PAGE_SIZE_4KB		1
#define ATTR_PAGE_SIZE_BIG		2
#define ATTR_LOCATION(attr)		(((attr) >> 25) & 3)
#define ATTR_LOCATION_VIDMEM		0
#define ATTR2_PAGE_SIZE_HUGE(attr2)	(((attr2) >> 20) & 3)
#define ATTR2_PAGE_SIZE_HUGE_512MB	2
#define DESCRIPTOR_VIRTUAL_ADDRESS	0
#define CLASS_MEMORY_SYSTEM		0x3e
#define CLASS_MEMORY_LOCAL_USER		0x40
#define CLASS_MEMORY_VIRTUAL		0x50a0

#define PAGE_4K		((u64)4 << 10)
#define PAGE_64K	((u64)64 << 10)
#define PAGE_2M		((u64)2 << 20)
#define PAGE_512M	((u64)512 << 20)

static const struct vgpu_rm_branch *const branches[] = {
	&vgpu_r535,
};

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct vgpu_rm_abi *vgpu_rm_abi(const char *version)
{
	u32 i;
	u32 j;

	for (i = 0; i < COUNT_OF(branches); i++) {
		for (j = 0; j < branches[i]->nr; j++) {
			if (same(branches[i]->versions[j].name, version))
				return branches[i]->versions[j].abi;
		}
	}
	return NULL;
}

const char *vgpu_rm_version(u32 n)
{
	u32 i;

	for (i = 0; i < COUNT_OF(branches); i++) {
		if (n < branches[i]->nr)
			return branches[i]->versions[n].name;
		n -= branches[i]->nr;
	}
	return NULL;
}

/* Index of the first row whose number is not below @nr; tables are ordered by number. */
static u32 first_row(const struct vgpu_rm_table *table, u32 nr)
{
	u32 low = 0;
	u32 high = table->nr;
	u32 mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (table->rows[mid].nr < nr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct vgpu_rm_row *vgpu_rm_row(const struct vgpu_rm_table *table, u32 nr)
{
	u32 i = first_row(table, nr);

	return i < table->nr && table->rows[i].nr == nr ? &table->rows[i] : NULL;
}

const struct vgpu_rm_row *vgpu_rm_item(const struct vgpu_rm_abi *abi, u32 item)
{
	return vgpu_rm_row(abi->items, item);
}

const struct vgpu_rm_field *vgpu_rm_field(const struct vgpu_rm_row *row, u32 slot)
{
	u32 i;

	for (i = 0; row && i < row->nr_fields; i++) {
		if (row->fields[i].slot == slot)
			return &row->fields[i];
	}
	return NULL;
}

/* Where element @index of a field begins in a buffer of @len bytes, or -1. */
static long place(const struct vgpu_rm_field *field, u32 index, u32 len)
{
	u64 end;

	if (!field || (field->count && index >= field->count))
		return -1;
	end = field->offset + ((u64)index + 1) * field->width;
	return end <= len ? (long)(end - field->width) : -1;
}

static bool get(const struct vgpu_rm_field *field, u32 index, const void *buf, u32 len, u64 *value)
{
	long at = place(field, index, len);

	if (at < 0 || field->width > sizeof(*value))
		return false;
	*value = 0;
	if (field->width == sizeof(u32))
		memcpy(value, (const u8 *)buf + at, sizeof(u32));
	else
		memcpy(value, (const u8 *)buf + at, field->width);
	return true;
}

bool vgpu_rm_get(const struct vgpu_rm_row *row, u32 slot, u32 index, const void *buf, u32 len,
		 u64 *value)
{
	return get(vgpu_rm_field(row, slot), index, buf, len, value);
}

bool vgpu_rm_put(const struct vgpu_rm_row *row, u32 slot, u32 index, void *buf, u32 len, u64 value)
{
	const struct vgpu_rm_field *field = vgpu_rm_field(row, slot);
	long at = place(field, index, len);

	if (at < 0 || field->width > sizeof(value))
		return false;
	memcpy((u8 *)buf + at, &value, field->width);
	return true;
}

static u64 value(const struct vgpu_rm_row *row, u32 slot, const void *buf, u32 len)
{
	u64 v = 0;

	vgpu_rm_get(row, slot, 0, buf, len, &v);
	return v;
}

static u64 round_up(u64 bytes, u64 page)
{
	return bytes > ~(u64)0 - (page - 1) ? ~(u64)0 : (bytes + page - 1) & ~(page - 1);
}

/*
 * What the driver will take, by its choice of a page size for a client's device memory: 535.288.01
 * src/nvidia/src/kernel/gpu/mem_mgr/mem_mgr.c, memmgrDeterminePageSize. The reply corrects it.
 */
static u64 device_bytes(u64 asked, u32 attr, u32 attr2)
{
	u64 page;

	switch (ATTR_PAGE_SIZE(attr)) {
	case ATTR_PAGE_SIZE_DEFAULT:
		page = asked >= PAGE_2M ? PAGE_2M : PAGE_64K;
		break;
	case ATTR_PAGE_SIZE_4KB:
		page = PAGE_4K;
		break;
	case ATTR_PAGE_SIZE_BIG:
		page = PAGE_64K;
		break;
	default:
		page = PAGE_2M;
		if (ATTR2_PAGE_SIZE_HUGE(attr2) == ATTR2_PAGE_SIZE_HUGE_512MB)
			page = PAGE_512M;
		break;
	}
	return round_up(asked, page);
}

static void refuse_status(struct vgpu_rm_req *req, u32 status)
{
	req->verdict = VGPU_RM_REFUSE_STATUS;
	req->refuse_status = status;
	req->ptr_size = 0;
	req->takes = VGPU_TAKES_NOTHING;
}

static void refuse_errno(struct vgpu_rm_req *req, u32 error)
{
	req->verdict = VGPU_RM_REFUSE_ERRNO;
	req->refuse_errno = error;
	req->ptr_size = 0;
	req->takes = VGPU_TAKES_NOTHING;
}

static void add_deps(struct vgpu_rm_req *req, const struct vgpu_rm_row *row, const void *buf,
		     u32 len)
{
	const struct vgpu_rm_field *field;
	u64 handle;
	u32 i;
	u32 j;

	for (i = 0; i < row->nr_fields; i++) {
		field = &row->fields[i];
		if (field->slot != VGPU_F_DEP && field->slot != VGPU_F_HOLD)
			continue;
		for (j = 0; j < field->count && req->nr_deps < VGPU_RM_MAX_DEPS; j++) {
			if (!get(field, j, buf, len, &handle) || !handle)
				continue;
			if (field->slot == VGPU_F_HOLD)
				req->holds |= 1u << req->nr_deps;
			req->deps[req->nr_deps++] = handle;
		}
	}
}

static void take_buffer(struct vgpu_rm_req *req, u64 asked, u32 attr, u32 attr2)
{
	req->takes = VGPU_TAKES_BUFFER;
	req->asked = asked;
	req->bytes = device_bytes(asked, attr, attr2);
}

/*
 * The driver turns it into an RM_ALLOC; 535.288.01
 * src/nvidia/interface/deprecated/rmapi_deprecated_vidheapctrl.c
 */
static void decode_heap(struct vgpu_rm_req *req, const void *buf)
{
	const struct vgpu_rm_row *row = vgpu_rm_row(req->abi->functions, req->cmd);
	u32 len = req->len;
	u32 flags;
	u32 attr;
	u64 asked;

	if (!row) {
		refuse_status(req, VGPU_NV_ERR_NOT_SUPPORTED);
		return;
	}
	req->inner_row = row;
	req->op = row->what;
	req->object = value(row, VGPU_F_OBJECT, buf, len);
	if (req->op != VGPU_RM_VID_HEAP_ALLOC)
		return;

	flags = value(row, VGPU_F_MEM_FLAGS, buf, len);
	attr = value(row, VGPU_F_ATTR, buf, len);
	asked = value(row, VGPU_F_SIZE, buf, len);
	if (vgpu_rm_field(row, VGPU_F_HEIGHT))
		asked = value(row, VGPU_F_HEIGHT, buf, len) *
			(u64)(s32)value(row, VGPU_F_PITCH, buf, len);
	if (!(flags & ALLOC_FLAGS_HANDLE_PROVIDED))
		req->object = 0;
	if (flags & ALLOC_FLAGS_VIRTUAL) {
		req->class = CLASS_MEMORY_VIRTUAL;
		req->class_kind = VGPU_CLASS_VIRTUAL;
		add_deps(req, row, buf, len);
	} else if (ATTR_LOCATION(attr) != ATTR_LOCATION_VIDMEM) {
		req->class = CLASS_MEMORY_SYSTEM;
		req->class_kind = VGPU_CLASS_SYSMEM;
	} else {
		req->class = CLASS_MEMORY_LOCAL_USER;
		req->class_kind = VGPU_CLASS_VIDMEM;
		take_buffer(req, asked, attr, value(row, VGPU_F_ATTR2, buf, len));
	}
}

static void decode_alloc(struct vgpu_rm_req *req)
{
	const struct vgpu_rm_row *row = vgpu_rm_row(req->abi->classes, req->class);
	u32 size;

	if (!row) {
		refuse_status(req, VGPU_NV_ERR_INVALID_CLASS);
		return;
	}
	req->inner_row = row;
	req->class_kind = row->what;
	if (row->refuse) {
		refuse_status(req, row->refuse);
		return;
	}
	if (row->what == VGPU_CLASS_CHANNEL)
		req->takes = VGPU_TAKES_CHANNEL;
	else if (row->what == VGPU_CLASS_GRAPHICS)
		req->takes = VGPU_TAKES_CONTEXT;

	size = row->what == VGPU_CLASS_CHANNEL ? req->abi->channel_size : row->size;
	if (!row->nr_fields)
		req->ptr_size = 0;
	else if (req->ptr && (!req->ptr_size || req->ptr_size == size))
		req->ptr_size = size;
	else if (req->ptr || row->what == VGPU_CLASS_VIDMEM)
		refuse_status(req, VGPU_NV_ERR_INVALID_PARAM_STRUCT);
	else
		req->ptr_size = 0;
}

static void decode_memory(struct vgpu_rm_req *req)
{
	const struct vgpu_rm_row *row = vgpu_rm_row(req->abi->memories, req->class);

	if (!row) {
		refuse_status(req, VGPU_NV_ERR_INVALID_CLASS);
		return;
	}
	req->inner_row = row;
	req->class_kind = row->what;
}

static void decode_control(struct vgpu_rm_req *req)
{
	const struct vgpu_rm_row *row = vgpu_rm_row(req->abi->controls, req->cmd);

	req->inner_row = row;
	if (!row) {
		req->ptr_size = 0;
		return;
	}
	req->control = row->what;
	if (row->refuse)
		refuse_status(req, row->refuse);
	else if (!req->ptr || req->ptr_size != row->size)
		refuse_status(req, VGPU_NV_ERR_INVALID_PARAM_STRUCT);
}

static const struct vgpu_rm_row *find_escape(const struct vgpu_rm_table *table, u32 nr, u32 len)
{
	const struct vgpu_rm_row *row;
	u32 i;

	for (i = first_row(table, nr); i < table->nr && table->rows[i].nr == nr; i++) {
		row = &table->rows[i];
		if (len == row->size || (len > row->size && row->size2 == VGPU_ANY_SIZE))
			return row;
	}
	return NULL;
}

/* The fields of an escape, in one pass: every ioctl goes through here. */
static void decode_outer(struct vgpu_rm_req *req, const void *buf)
{
	const struct vgpu_rm_row *row = req->row;
	u64 v;
	u32 i;

	for (i = 0; i < row->nr_fields; i++) {
		if (!get(&row->fields[i], 0, buf, req->len, &v))
			continue;
		switch (row->fields[i].slot) {
		case VGPU_F_CLIENT:
			req->client = v;
			break;
		case VGPU_F_PARENT:
			req->parent = v;
			break;
		case VGPU_F_OBJECT:
			req->object = v;
			break;
		case VGPU_F_CLASS:
			req->class = v;
			break;
		case VGPU_F_CMD:
			req->cmd = v;
			break;
		case VGPU_F_FLAGS:
			req->flags = v;
			break;
		case VGPU_F_SRC_CLIENT:
			req->src_client = v;
			break;
		case VGPU_F_SRC_OBJECT:
			req->src_object = v;
			break;
		case VGPU_F_PTR:
			req->ptr = v;
			break;
		case VGPU_F_PTR_SIZE:
			req->ptr_size = v;
			break;
		case VGPU_F_FD:
			req->fd = (s32)v;
			break;
		default:
			break;
		}
	}
}

void vgpu_rm_decode(const struct vgpu_rm_abi *abi, bool ctl, u32 nr, const void *buf, u32 len,
		    struct vgpu_rm_req *req)
{
	const struct vgpu_rm_row *row = find_escape(abi->escapes, nr, len);

	memset(req, 0, sizeof(*req));
	req->abi = abi;
	req->row = row;
	req->nr = nr;
	req->len = len;
	req->fd = -1;
	if (!row || (row->where == VGPU_ON_CTL && !ctl) || (row->where == VGPU_ON_GPU && ctl)) {
		refuse_errno(req, EINVAL);
		return;
	}
	req->op = row->what;
	if (row->refuse) {
		refuse_status(req, row->refuse);
		return;
	}

	decode_outer(req, buf);
	switch (req->op) {
	case VGPU_RM_ALLOC:
		decode_alloc(req);
		break;
	case VGPU_RM_ALLOC_MEMORY:
		decode_memory(req);
		break;
	case VGPU_RM_ALLOC_CTXDMA:
		req->class_kind = VGPU_CLASS_OTHER;
		add_deps(req, row, buf, len);
		break;
	case VGPU_RM_CONTROL:
		decode_control(req);
		break;
	case VGPU_RM_VID_HEAP_OTHER:
		decode_heap(req, buf);
		break;
	default:
		break;
	}
}

static void decode_params(struct vgpu_rm_req *req, const void *inner, u32 len)
{
	const struct vgpu_rm_row *row = req->inner_row;
	u32 attr = value(row, VGPU_F_ATTR, inner, len);

	switch (req->class_kind) {
	case VGPU_CLASS_VIDMEM:
		take_buffer(req, value(row, VGPU_F_SIZE, inner, len), attr,
			    value(row, VGPU_F_ATTR2, inner, len));
		break;
	case VGPU_CLASS_SYSMEM:
		if (value(row, VGPU_F_DESCRIPTOR, inner, len) != DESCRIPTOR_VIRTUAL_ADDRESS)
			refuse_status(req, VGPU_NV_ERR_NOT_SUPPORTED);
		break;
	case VGPU_CLASS_DEVICE:
		req->device_instance = value(row, VGPU_F_INSTANCE, inner, len);
		break;
	default:
		add_deps(req, row, inner, len);
		break;
	}
}

void vgpu_rm_decode_inner(struct vgpu_rm_req *req, const void *inner, u32 len)
{
	const struct vgpu_rm_row *row = req->inner_row;
	const struct vgpu_rm_field *deep;
	u64 count;

	if (req->verdict != VGPU_RM_FORWARD || !req->ptr_size || !row)
		return;
	if (len < req->ptr_size) {
		refuse_status(req, VGPU_NV_ERR_INVALID_PARAM_STRUCT);
		return;
	}
	if (req->op == VGPU_RM_ALLOC) {
		decode_params(req, inner, len);
		return;
	}
	req->gpu_id = value(row, VGPU_F_GPU_ID, inner, len);
	deep = vgpu_rm_field(row, VGPU_F_DEEP_PTR);
	if (deep) {
		count = value(row, VGPU_F_COUNT, inner, len);
		req->deep_ptr = value(row, VGPU_F_DEEP_PTR, inner, len);
		req->deep_size = count <= deep->count ? count * deep->width : 0;
	}
}

void vgpu_rm_reply(const struct vgpu_rm_req *req, const void *buf, u32 len, const void *inner,
		   u32 inner_len, struct vgpu_rm_result *result)
{
	const struct vgpu_rm_row *row = req->row;
	u64 given = 0;

	memset(result, 0, sizeof(*result));
	if (!row)
		return;
	result->status = value(row, VGPU_F_STATUS, buf, len);
	if (req->op == VGPU_RM_VID_HEAP_ALLOC) {
		row = req->inner_row;
		given = value(row, VGPU_F_SIZE, buf, len);
	} else if (inner && req->inner_row) {
		given = value(req->inner_row, VGPU_F_SIZE, inner, inner_len);
	}
	result->object = value(row, VGPU_F_OBJECT, buf, len);
	if (req->control == VGPU_CONTROL_CTX_BUFFERS)
		result->bytes = given;
	else if (req->takes == VGPU_TAKES_BUFFER)
		result->bytes = round_up(given > req->asked ? given : req->asked, PAGE_4K);
}

bool vgpu_rm_set_status(const struct vgpu_rm_req *req, void *buf, u32 len, u32 status)
{
	return vgpu_rm_put(req->row, VGPU_F_STATUS, 0, buf, len, status);
}

bool vgpu_rm_set_object(struct vgpu_rm_req *req, void *buf, u32 len, u32 handle)
{
	const struct vgpu_rm_row *row = req->row;
	u64 flags;

	if (req->op == VGPU_RM_VID_HEAP_ALLOC) {
		row = req->inner_row;
		if (!vgpu_rm_get(row, VGPU_F_MEM_FLAGS, 0, buf, len, &flags) ||
		    !vgpu_rm_put(row, VGPU_F_MEM_FLAGS, 0, buf, len,
				 flags | ALLOC_FLAGS_HANDLE_PROVIDED))
			return false;
	}
	if (!vgpu_rm_put(row, VGPU_F_OBJECT, 0, buf, len, handle))
		return false;
	req->object = handle;
	return true;
}
