// SPDX-License-Identifier: GPL-2.0-only
/* Channel groups, channels and what hangs below them as handles see them, and their controls. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dma.h"
#include "engine.h"

#define USERD_SIZE		512	/* NV_RAMUSERD_CHAN_SIZE */
#define USERD_GP_GET		0x88
#define USERD_GP_PUT		0x8c

/* More entries than any client of 535 asks for. */
#define NVSIM_MAX_ENTRIES	(1U << 16)

/* A group's time slice until a client sets another. */
#define NVSIM_TIMESLICE_US	2048
#define NVSIM_TIMESLICE_MAX_US	(10 * USEC_PER_SEC)

/* NV2080_ENGINE_TYPE_* */
#define ENGINE_TYPE_GR0		1
#define ENGINE_TYPE_COPY0	9

u32 nvsim_group_alloc(struct nvsim_alloc *a)
{
	struct nv_channel_group_allocation_parameters *p = a->params;
	struct nvsim_engine *e = a->obj->gpu->engine;
	struct nvsim_group *group;
	u32 status;
	int id;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return NV_ERR_NO_MEMORY;
	if (p->hVASpace) {
		group->vas = nvsim_vas_of_handle(a->obj, p->hVASpace, &status);
		if (!group->vas)
			goto err_free;
	}
	id = ida_alloc(&e->group_ids, GFP_KERNEL);
	if (id < 0) {
		status = NV_ERR_INSUFFICIENT_RESOURCES;
		goto err_vas;
	}
	group->engine = e;
	group->id = id;
	group->engine_type = p->engineType;
	group->timeslice_us = NVSIM_TIMESLICE_US;
	INIT_LIST_HEAD(&group->in_runlist);
	INIT_LIST_HEAD(&group->launches);
	a->obj->data = group;
	return NV_OK;

err_vas:
	if (group->vas)
		nvsim_vas_put(group->vas);
err_free:
	kfree(group);
	return status;
}

/* Its channels are its children, so they are gone. */
void nvsim_group_free(struct nvsim_object *obj)
{
	struct nvsim_group *group = obj->data;
	struct nvsim_engine *e = group->engine;

	mutex_lock(&e->lock);
	WARN_ON(!list_empty(&group->launches));
	if (e->running == group)
		e->running = NULL;
	mutex_unlock(&e->lock);

	ida_free(&e->group_ids, group->id);
	if (group->vas)
		nvsim_vas_put(group->vas);
	kfree(group);
}

u32 nvsim_ctxshare_alloc(struct nvsim_alloc *a)
{
	struct nv_ctxshare_allocation_parameters *p = a->params;
	u32 status = NV_OK;

	a->obj->data = nvsim_vas_of_handle(a->obj, p->hVASpace, &status);
	return a->obj->data ? NV_OK : status;
}

void nvsim_ctxshare_free(struct nvsim_object *obj)
{
	nvsim_vas_put(obj->data);
}

/* Whose addresses the channel's are: of its context share, its handle, its group, the device. */
static struct nvsim_vas *nvsim_channel_vas(struct nvsim_object *obj, struct nvsim_group *group,
					   const struct nv_channel_alloc_params *p, u32 *status)
{
	struct nvsim_object *share;
	struct nvsim_vas *vas;

	if (p->hContextShare) {
		share = nvsim_object_find(obj->client, p->hContextShare);
		if (!share || share->class != FERMI_CONTEXT_SHARE_A) {
			*status = NV_ERR_INVALID_OBJECT_HANDLE;
			return NULL;
		}
		vas = share->data;
	} else if (!p->hVASpace && group->vas) {
		vas = group->vas;
	} else {
		return nvsim_vas_of_handle(obj, p->hVASpace, status);
	}
	nvsim_vas_get(vas);
	return vas;
}

static struct nvsim_mem *nvsim_channel_mem(struct nvsim_object *obj, u32 handle, u64 offset,
					   u64 size)
{
	struct nvsim_object *memory = nvsim_object_find(obj->client, handle);

	if (!memory || !memory->mem || offset > memory->mem->size ||
	    size > memory->mem->size - offset)
		return NULL;
	nvsim_mem_get(memory->mem);
	return memory->mem;
}

static void nvsim_channel_destroy(struct nvsim_channel *ch)
{
	if (ch->userd)
		nvsim_mem_put(ch->userd);
	if (ch->notifier)
		nvsim_mem_put(ch->notifier);
	if (ch->vas)
		nvsim_vas_put(ch->vas);
	put_pid(ch->pid);
	kfree(ch);
}

u32 nvsim_channel_alloc(struct nvsim_alloc *a)
{
	struct nv_channel_alloc_params *p = a->params;
	struct nvsim_engine *e = a->obj->gpu->engine;
	struct nvsim_channel *ch;
	u32 status;
	int chid;

	if (a->obj->parent->class != KEPLER_CHANNEL_GROUP_A)
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (!p->gpFifoEntries || p->gpFifoEntries > NVSIM_MAX_ENTRIES ||
	    !IS_ALIGNED(p->gpFifoOffset, sizeof(u64)) || !IS_ALIGNED(p->userdOffset[0], USERD_SIZE))
		return NV_ERR_INVALID_ARGUMENT;

	ch = kzalloc(sizeof(*ch), GFP_KERNEL_ACCOUNT);
	if (!ch)
		return NV_ERR_NO_MEMORY;
	ch->engine = e;
	ch->group = a->obj->parent->data;
	ch->client = a->obj->client->handle;
	ch->pid = get_pid(a->obj->client->pid);
	ch->gpfifo = p->gpFifoOffset;
	ch->entries = p->gpFifoEntries;
	INIT_LIST_HEAD(&ch->in_launches);

	ch->vas = nvsim_channel_vas(a->obj, ch->group, p, &status);
	if (!ch->vas)
		goto err;
	status = NV_ERR_INVALID_OBJECT_HANDLE;
	ch->userd_offset = p->userdOffset[0];
	ch->userd = nvsim_channel_mem(a->obj, p->hUserdMemory[0], ch->userd_offset, USERD_SIZE);
	if (!ch->userd)
		goto err;
	if (p->hObjectError) {
		ch->notifier = nvsim_channel_mem(a->obj, p->hObjectError, 0, PAGE_SIZE);
		if (!ch->notifier)
			goto err;
	}
	/* RM hands out USERD cleared. */
	status = NV_ERR_NO_MEMORY;
	if (nvsim_mem_store(ch->userd, ch->userd_offset + USERD_GP_GET, 0) ||
	    nvsim_mem_store(ch->userd, ch->userd_offset + USERD_GP_PUT, 0))
		goto err;
	chid = ida_alloc_max(&e->chids, NVSIM_MAX_CHIDS - 1, GFP_KERNEL);
	if (chid < 0) {
		status = NV_ERR_INSUFFICIENT_RESOURCES;
		goto err;
	}
	ch->chid = chid;
	a->obj->data = ch;

	mutex_lock(&e->lock);
	list_add_tail(&ch->in_engine, &e->channels);
	mutex_unlock(&e->lock);
	return NV_OK;

err:
	nvsim_channel_destroy(ch);
	return status;
}

/* Under the lock no step is under way, and off the list no other begins. */
void nvsim_channel_free(struct nvsim_object *obj)
{
	struct nvsim_channel *ch = obj->data;
	struct nvsim_engine *e = ch->engine;

	mutex_lock(&e->lock);
	list_del(&ch->in_engine);
	nvsim_launch_drop(ch);
	mutex_unlock(&e->lock);

	nvsim_engine_kick(e);
	ida_free(&e->chids, ch->chid);
	nvsim_channel_destroy(ch);
}

/* NVB0B5_ALLOCATION_PARAMETERS: version 0 names the copy engine by its instance. */
u32 nvsim_engobj_alloc(struct nvsim_alloc *a)
{
	const u32 *p = a->params;
	unsigned long type = ENGINE_TYPE_GR0;

	if ((a->obj->class & 0xff) == (AMPERE_DMA_COPY_B & 0xff))
		type = a->params_size >= 8 && p[0] ? p[1] : ENGINE_TYPE_COPY0;
	a->obj->data = (void *)type;
	return NV_OK;
}

void nvsim_engobj_free(struct nvsim_object *obj)
{
}

u32 nvsim_usermode_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_usermode_free(struct nvsim_object *obj)
{
}

/* The channel or group that a control was sent to; NULL if it was sent to something else. */
static struct nvsim_channel *nvsim_channel_of(struct nvsim_object *obj)
{
	return obj && obj->class == AMPERE_CHANNEL_GPFIFO_A ? obj->data : NULL;
}

static struct nvsim_group *nvsim_group_of(struct nvsim_control_call *call)
{
	return call->obj->class == KEPLER_CHANNEL_GROUP_A ? call->obj->data : NULL;
}

/* ctrla06c.h: NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS { u8 bEnable, bSkipSubmit } */
static u32 nvsim_ctrl_group_schedule(struct nvsim_control_call *call)
{
	struct nvsim_group *group = nvsim_group_of(call);
	const u8 *p = call->params;

	if (!group)
		return NV_ERR_INVALID_OBJECT;
	mutex_lock(&group->engine->lock);
	nvsim_group_set_enabled(group, p[0]);
	mutex_unlock(&group->engine->lock);
	nvsim_engine_kick(group->engine);
	return NV_OK;
}

static u32 nvsim_ctrl_set_timeslice(struct nvsim_control_call *call)
{
	struct nvsim_group *group = nvsim_group_of(call);
	u64 us = *(u64 *)call->params;

	if (!group)
		return NV_ERR_INVALID_OBJECT;
	if (!us || us > NVSIM_TIMESLICE_MAX_US)
		return NV_ERR_INVALID_ARGUMENT;
	mutex_lock(&group->engine->lock);
	group->timeslice_us = us;
	mutex_unlock(&group->engine->lock);
	return NV_OK;
}

static u32 nvsim_ctrl_get_timeslice(struct nvsim_control_call *call)
{
	struct nvsim_group *group = nvsim_group_of(call);

	if (!group)
		return NV_ERR_INVALID_OBJECT;
	*(u64 *)call->params = group->timeslice_us;
	return NV_OK;
}

static u32 nvsim_ctrl_preempt(struct nvsim_control_call *call)
{
	struct nvsim_group *group = nvsim_group_of(call);

	if (!group)
		return NV_ERR_INVALID_OBJECT;
	mutex_lock(&group->engine->lock);
	nvsim_group_yield(group);
	mutex_unlock(&group->engine->lock);
	nvsim_engine_kick(group->engine);
	return NV_OK;
}

static u32 nvsim_ctrl_group_info(struct nvsim_control_call *call)
{
	struct nvsim_group *group = nvsim_group_of(call);

	if (!group)
		return NV_ERR_INVALID_OBJECT;
	*(u32 *)call->params = group->id;
	return NV_OK;
}

/* ctrla06f.h: as for a group, for one channel */
static u32 nvsim_ctrl_channel_schedule(struct nvsim_control_call *call)
{
	struct nvsim_channel *ch = nvsim_channel_of(call->obj);
	const u8 *p = call->params;

	if (!ch)
		return NV_ERR_INVALID_OBJECT;
	mutex_lock(&ch->engine->lock);
	ch->enabled = p[0];
	mutex_unlock(&ch->engine->lock);
	nvsim_engine_kick(ch->engine);
	return NV_OK;
}

/* The engine was chosen when the group was made. */
static u32 nvsim_ctrl_bind(struct nvsim_control_call *call)
{
	return nvsim_channel_of(call->obj) ? NV_OK : NV_ERR_INVALID_OBJECT;
}

static void nvsim_channel_set_disabled(struct nvsim_channel *ch, bool disabled)
{
	mutex_lock(&ch->engine->lock);
	ch->disabled = disabled;
	mutex_unlock(&ch->engine->lock);
	nvsim_engine_kick(ch->engine);
}

static u32 nvsim_ctrl_stop(struct nvsim_control_call *call)
{
	struct nvsim_channel *ch = nvsim_channel_of(call->obj);

	if (!ch)
		return NV_ERR_INVALID_OBJECT;
	nvsim_channel_set_disabled(ch, true);
	return NV_OK;
}

/* clc36f.h: NVC36F_CTRL_GET_CLASS_ENGINEID_PARAMS */
struct nvsim_class_engineid {
	u32 hObject;
	u32 classEngineID;
	u32 classID;
	u32 engineID;
};

static u32 nvsim_ctrl_class_engineid(struct nvsim_control_call *call)
{
	struct nvsim_class_engineid *p = call->params;
	struct nvsim_object *obj = nvsim_object_find(call->obj->client, p->hObject);

	if (!nvsim_channel_of(call->obj) || !obj || obj->parent != call->obj)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	p->classEngineID = 0;
	p->classID = obj->class;
	p->engineID = (unsigned long)obj->data;
	return NV_OK;
}

static u32 nvsim_ctrl_work_submit_token(struct nvsim_control_call *call)
{
	struct nvsim_channel *ch = nvsim_channel_of(call->obj);

	if (!ch)
		return NV_ERR_INVALID_OBJECT;
	*(u32 *)call->params = ch->chid;
	return NV_OK;
}

/* ctrl0080fifo.h: handles in the first list, channel ids into the second */
static u32 nvsim_ctrl_channel_list(struct nvsim_control_call *call)
{
	const u32 *handles = call->list[0];
	struct nvsim_channel *ch;
	u32 i, *ids = call->list[1];

	if (!handles || !ids)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < min(call->list_size[0], call->list_size[1]) / sizeof(u32); i++) {
		ch = nvsim_channel_of(nvsim_object_find(call->obj->client, handles[i]));
		ids[i] = ch ? ch->chid : U32_MAX;
	}
	return NV_OK;
}

/* ctrl2080fifo.h: NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS */
struct nvsim_disable_channels {
	u8 bDisable;
	u8 pad0[3];
	u32 numChannels;
	u8 bOnlyDisableScheduling;
	u8 bRewindGpPut;
	u8 pad1[6];
	u64 pRunlistPreemptEvent;
	u32 hClientList[64];
	u32 hChannelList[64];
};
static_assert(sizeof(struct nvsim_disable_channels) == 536);

static u32 nvsim_ctrl_disable_channels(struct nvsim_control_call *call)
{
	struct nvsim_disable_channels *p = call->params;
	struct nvsim_channel *ch;
	u32 i;

	if (p->numChannels > ARRAY_SIZE(p->hChannelList) || p->pRunlistPreemptEvent)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < p->numChannels; i++) {
		ch = nvsim_channel_of(nvsim_object_lookup(p->hClientList[i], p->hChannelList[i]));
		if (!ch)
			return NV_ERR_INVALID_CHANNEL;
		nvsim_channel_set_disabled(ch, p->bDisable);
	}
	return NV_OK;
}

/* Interleave levels, realtime and RESTART_RUNLIST want RS_ACCESS_NICE, which no user client has. */
static const struct nvsim_control nvsim_engine_rows[] = {
	{ .cmd = 0x80170d, .params_size = 24, .handler = nvsim_ctrl_channel_list,
	  .embedded = {
		{ .ptr_at = 8, .count_at = 0, .elem_size = 4, .copy_in = true, .max = 4096 },
		{ .ptr_at = 16, .count_at = 0, .elem_size = 4, .max = 4096 },
	  } },
	{ .cmd = 0x2080110b, .params_size = 536, .handler = nvsim_ctrl_disable_channels },
	{ .cmd = 0xa06c0101, .params_size = 2, .handler = nvsim_ctrl_group_schedule },
	{ .cmd = 0xa06c0103, .params_size = 8, .handler = nvsim_ctrl_set_timeslice },
	{ .cmd = 0xa06c0104, .params_size = 8, .handler = nvsim_ctrl_get_timeslice },
	{ .cmd = 0xa06c0105, .params_size = 8, .handler = nvsim_ctrl_preempt },
	{ .cmd = 0xa06c0106, .params_size = 4, .handler = nvsim_ctrl_group_info },
	{ .cmd = 0xa06c0107, .params_size = 4, .status = NV_ERR_INSUFFICIENT_PERMISSIONS },
	{ .cmd = 0xa06c0110, .params_size = 1, .status = NV_ERR_INSUFFICIENT_PERMISSIONS },
	{ .cmd = 0xa06f0103, .params_size = 2, .handler = nvsim_ctrl_channel_schedule },
	{ .cmd = 0xa06f0104, .params_size = 4, .handler = nvsim_ctrl_bind },
	{ .cmd = 0xa06f0109, .params_size = 4, .status = NV_ERR_INSUFFICIENT_PERMISSIONS },
	{ .cmd = 0xa06f0111, .params_size = 2, .status = NV_ERR_INSUFFICIENT_PERMISSIONS },
	{ .cmd = 0xa06f0112, .params_size = 1, .handler = nvsim_ctrl_stop },
	{ .cmd = 0xc36f0101, .params_size = 16, .handler = nvsim_ctrl_class_engineid },
	{ .cmd = 0xc36f0108, .params_size = 4, .handler = nvsim_ctrl_work_submit_token },
};

const struct nvsim_control_table nvsim_engine_controls = {
	.rows = nvsim_engine_rows,
	.nr = ARRAY_SIZE(nvsim_engine_rows),
};
