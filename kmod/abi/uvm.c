// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "tables.h"

u32 vgpu_uvm_size(const struct vgpu_rm_abi *abi, u32 cmd)
{
	const struct vgpu_rm_row *row = vgpu_rm_row(abi->uvm, cmd);

	return row ? row->size : 0;
}

static u64 value(const struct vgpu_rm_row *row, u32 slot, const void *buf, u32 len)
{
	u64 v = 0;

	vgpu_rm_get(row, slot, 0, buf, len, &v);
	return v;
}

void vgpu_uvm_decode(const struct vgpu_rm_abi *abi, u32 cmd, const void *buf, u32 len,
		     struct vgpu_uvm_req *req)
{
	const struct vgpu_rm_row *row = vgpu_rm_row(abi->uvm, cmd);
	const struct vgpu_rm_field *field;
	u64 count;

	memset(req, 0, sizeof(*req));
	req->cmd = cmd;
	if (!row || len < row->size) {
		req->verdict = VGPU_RM_REFUSE_ERRNO;
		req->refuse_errno = EINVAL;
		return;
	}
	len = row->size;
	req->row = row;
	req->op = row->what;
	req->size = row->size;
	field = vgpu_rm_field(row, VGPU_F_STATUS);
	req->status_offset = field ? field->offset : 0;
	req->client = value(row, VGPU_F_CLIENT, buf, len);
	req->object = value(row, VGPU_F_OBJECT, buf, len);
	req->base = value(row, VGPU_F_BASE, buf, len);
	req->length = value(row, VGPU_F_LENGTH, buf, len);
	req->flags = value(row, VGPU_F_FLAGS, buf, len);

	field = vgpu_rm_field(row, VGPU_F_UUID);
	if (!field)
		return;
	req->uuid = field->offset;
	req->uuid_stride = field->width;
	req->nr_uuids = field->count;
	if (vgpu_rm_get(row, VGPU_F_COUNT, 0, buf, len, &count)) {
		req->nr_uuids = count;
		if (count > field->count) {
			/* UVM_MAX_GPUS; the driver says the same */
			req->verdict = VGPU_RM_REFUSE_STATUS;
			req->refuse_status = VGPU_NV_ERR_INVALID_ARGUMENT;
			req->nr_uuids = 0;
		}
	}
}

bool vgpu_uvm_set_status(const struct vgpu_uvm_req *req, void *buf, u32 len, u32 status)
{
	return vgpu_rm_put(req->row, VGPU_F_STATUS, 0, buf, len, status);
}
