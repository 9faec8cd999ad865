// SPDX-License-Identifier: GPL-2.0-only
/* The engine of a GPU: channels, doorbells, time. */
#include "nvsim.h"

const struct nvsim_control_table nvsim_engine_controls;

int nvsim_engine_start(struct nvsim_gpu *gpu)
{
	return 0;
}

void nvsim_engine_stop(struct nvsim_gpu *gpu)
{
}

u32 nvsim_group_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_group_free(struct nvsim_object *obj)
{
}

u32 nvsim_ctxshare_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_ctxshare_free(struct nvsim_object *obj)
{
}

u32 nvsim_channel_alloc(struct nvsim_alloc *a)
{
	return NV_OK;
}

void nvsim_channel_free(struct nvsim_object *obj)
{
}

u32 nvsim_engobj_alloc(struct nvsim_alloc *a)
{
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
