// SPDX-License-Identifier: GPL-2.0-only
/* RM_CONTROL: finds the row, copies parameters and what they point to, calls the handler. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/uaccess.h>

#include "control.h"
#include "escape.h"
#include "object.h"

#define NVSIM_MAX_PARAMS	(128 * 1024)	/* the largest known has 88,024 bytes */

static const struct nvsim_control_table * const nvsim_tables[] = {
	&nvsim_root_controls,
	&nvsim_device_controls,
	&nvsim_gpu_controls,
	&nvsim_fb_controls,
	&nvsim_gr_controls,
	&nvsim_usage_controls,
	&nvsim_engine_controls,
};

static const struct nvsim_control *nvsim_control_find(u32 cmd)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(nvsim_tables); i++)
		for (j = 0; j < nvsim_tables[i]->nr; j++)
			if (nvsim_tables[i]->rows[j].cmd == cmd)
				return &nvsim_tables[i]->rows[j];
	return NULL;
}

/* The upper half of a control's number is the class it is for, or an ancestor of that class. */
static bool nvsim_control_fits(u32 cmd, const struct nvsim_object *obj)
{
	switch (cmd >> 16) {
	case 0x0000:
		return obj->class == NV01_ROOT_CLIENT;
	case 0x0041:
		return nvsim_class_is_memory(obj->class);
	case 0x906f:
	case 0xa06f:
	case 0xc36f:
		return obj->class == AMPERE_CHANNEL_GPFIFO_A;
	default:
		return obj->class == cmd >> 16;
	}
}

void nvsim_fill_info(struct nvsim_info *list, u32 nr, const struct nvsim_info *known, u32 nr_known)
{
	u32 i, j;

	for (i = 0; i < nr; i++) {
		list[i].data = 0;
		for (j = 0; j < nr_known; j++)
			if (known[j].index == list[i].index)
				list[i].data = known[j].data;
	}
}

u32 nvsim_control_zero(struct nvsim_control_call *call)
{
	memset(call->params, 0, call->params_size);
	return NV_OK;
}

/* docs/nvsim.md says how to see these: the way to find out what a new client misses. */
static u32 nvsim_control_unknown(const struct nvsim_control_call *call)
{
	pr_debug("control 0x%x (%u bytes) on class 0x%x is not known\n", call->cmd,
		 call->params_size, call->obj->class);
	return NV_ERR_NOT_SUPPORTED;
}

static u32 nvsim_control_run(struct nvsim_control_call *call, const struct nvsim_control *row,
			     const struct nvos54 *p)
{
	struct nvsim_client *client;
	u32 status, i;

	mutex_lock(&nvsim_rm_lock);
	client = nvsim_client_of(call->file, p->hClient);
	call->obj = client ? nvsim_object_find(client, p->hObject) : NULL;
	if (!client)
		status = NV_ERR_INVALID_CLIENT;
	else if (!call->obj)
		status = NV_ERR_OBJECT_NOT_FOUND;
	else if (!row || !nvsim_control_fits(call->cmd, call->obj))
		status = nvsim_control_unknown(call);
	else if (call->params_size != row->params_size)
		status = NV_ERR_INVALID_PARAM_STRUCT;
	else if (row->handler)
		status = row->handler(call);
	else
		status = row->status;
	mutex_unlock(&nvsim_rm_lock);

	if (status == NV_OK)
		for (i = 0; i < row->nr_words; i++)
			nvsim_put32(call, row->words[i].at, row->words[i].value);
	return status;
}

/* Copies in what the parameters point to, as RM's embedded parameter copy does. */
static u32 nvsim_copy_lists_in(struct nvsim_control_call *call, const struct nvsim_control *row)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row->embedded) && row->embedded[i].elem_size; i++) {
		const struct nvsim_embedded *e = &row->embedded[i];
		u64 ptr = *(u64 *)(call->params + e->ptr_at);
		u32 count = nvsim_get32(call, e->count_at);

		if (!ptr)
			continue;
		if (count > e->max)
			return NV_ERR_INVALID_ARGUMENT;
		call->list_size[i] = count * e->elem_size;
		call->list[i] = kvzalloc(max_t(u32, call->list_size[i], 1), GFP_KERNEL_ACCOUNT);
		if (!call->list[i])
			return NV_ERR_NO_MEMORY;
		if (e->copy_in &&
		    copy_from_user(call->list[i], u64_to_user_ptr(ptr), call->list_size[i]))
			return NV_ERR_INVALID_ADDRESS;
	}
	return NV_OK;
}

static u32 nvsim_copy_lists_out(struct nvsim_control_call *call, const struct nvsim_control *row,
				const u64 *ptrs)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(call->list); i++)
		if (call->list[i] &&
		    copy_to_user(u64_to_user_ptr(ptrs[i]), call->list[i], call->list_size[i]))
			return NV_ERR_INVALID_ADDRESS;
	return NV_OK;
}

static u32 nvsim_control(struct nvsim_control_call *call, const struct nvos54 *p)
{
	const struct nvsim_control *row = nvsim_control_find(call->cmd);
	u64 ptrs[ARRAY_SIZE(call->list)] = {};
	u32 status;
	unsigned int i;

	if (!row || call->params_size != row->params_size)
		return nvsim_control_run(call, row, p);

	for (i = 0; i < ARRAY_SIZE(ptrs) && row->embedded[i].elem_size; i++)
		ptrs[i] = *(u64 *)(call->params + row->embedded[i].ptr_at);
	status = nvsim_copy_lists_in(call, row);
	if (status == NV_OK)
		status = nvsim_control_run(call, row, p);
	if (status == NV_OK)
		status = nvsim_copy_lists_out(call, row, ptrs);
	for (i = 0; i < ARRAY_SIZE(call->list); i++)
		kvfree(call->list[i]);
	return status;
}

int nvsim_esc_control(struct nvsim_file *file, void *arg, u32 size)
{
	struct nvos54 *p = arg;
	struct nvsim_control_call call = {
		.file = file,
		.cmd = p->cmd,
		.params_size = p->paramsSize,
	};
	void __user *user = u64_to_user_ptr(p->params);

	p->status = NV_OK;
	if (!p->cmd)		/* NVXXXX_CTRL_CMD_NULL asks whether anybody listens */
		return 0;
	if ((!user && p->paramsSize) || p->paramsSize > NVSIM_MAX_PARAMS) {
		p->status = NV_ERR_INVALID_ARGUMENT;
		return 0;
	}
	call.params = kvzalloc(max_t(u32, p->paramsSize, 1), GFP_KERNEL_ACCOUNT);
	if (!call.params) {
		p->status = NV_ERR_NO_MEMORY;
		return 0;
	}
	if (copy_from_user(call.params, user, p->paramsSize))
		p->status = NV_ERR_INVALID_ADDRESS;
	else
		p->status = nvsim_control(&call, p);
	/* 535 param_copy.c: parameters go back on success only. */
	if (p->status == NV_OK && copy_to_user(user, call.params, p->paramsSize))
		p->status = NV_ERR_INVALID_ADDRESS;
	kvfree(call.params);
	return 0;
}
