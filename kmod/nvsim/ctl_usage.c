// SPDX-License-Identifier: GPL-2.0-only
/* Who uses a GPU and how much: processes, memory, utilisation (ctrl2080gpu.h, ctrl2080perf.h). */
#include <linux/ktime.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "books.h"
#include "control.h"
#include "object.h"
#include "usage.h"

#define NVSIM_MAX_PIDS		950	/* NV2080_CTRL_GPU_GET_PIDS_MAX_COUNT */
#define NVSIM_MAX_PID_INFOS	200	/* NV2080_CTRL_GPU_GET_PID_INFO_MAX_COUNT */
#define NVSIM_GET_PIDS_TYPE_CLASS 0

struct nvsim_pid_list {
	struct nvsim_gpu *gpu;
	u32 *pids;
	u32 nr;
};

/* Pids are those of the caller's namespace; who is not in it is not shown (535 _gpuConvertPid). */
static void nvsim_add_pid(struct nvsim_pid_list *list, struct pid *pid)
{
	u32 nr = pid_nr_ns(pid, task_active_pid_ns(current));
	u32 i;

	if (!nr)
		return;
	for (i = 0; i < list->nr; i++)
		if (list->pids[i] == nr)
			return;
	if (list->nr < NVSIM_MAX_PIDS)
		list->pids[list->nr++] = nr;
}

static bool nvsim_client_has(struct nvsim_client *client, struct nvsim_gpu *gpu, u32 class)
{
	struct nvsim_object *obj;
	unsigned long handle;

	xa_for_each(&client->objects, handle, obj)
		if (obj->class == class && obj->gpu == gpu)
			return true;
	return false;
}

static u32 nvsim_add_holders(struct nvsim_pid_list *list)
{
	struct nvsim_holder *holders;
	unsigned int i, nr;

	holders = kcalloc(NVSIM_MAX_PIDS, sizeof(*holders), GFP_KERNEL_ACCOUNT);
	if (!holders)
		return NV_ERR_NO_MEMORY;
	nr = nvsim_books_holders(list->gpu, holders, NVSIM_MAX_PIDS);
	for (i = 0; i < nr; i++) {
		nvsim_add_pid(list, holders[i].pid);
		put_pid(holders[i].pid);
	}
	kfree(holders);
	return NV_OK;
}

/*
 * GPU_GET_PIDS: idType@0 id@4 count@8 pids[950]@12. The processes with an object of class id; for
 * the compute class also those that hold memory without any: a simulator's users want to see them.
 */
static u32 nvsim_get_pids(struct nvsim_control_call *call)
{
	struct nvsim_pid_list list = { .gpu = call->obj->gpu, .pids = call->params + 12 };
	u32 class = nvsim_get32(call, 4);
	struct nvsim_client *client;
	unsigned long handle;
	u32 status = NV_OK;

	if (nvsim_get32(call, 0) != NVSIM_GET_PIDS_TYPE_CLASS)
		return NV_ERR_NOT_SUPPORTED;
	memset(list.pids, 0, NVSIM_MAX_PIDS * sizeof(u32));
	xa_for_each(&nvsim_clients, handle, client)
		if (nvsim_client_has(client, list.gpu, class))
			nvsim_add_pid(&list, client->pid);
	if (class == AMPERE_COMPUTE_B)
		status = nvsim_add_holders(&list);
	nvsim_put32(call, 8, list.nr);
	return status;
}

/* NV2080_CTRL_GPU_PID_INFO, 72 bytes from 8 on */
struct nvsim_pid_info {
	u32 pid;
	u32 index;
	u32 result;
	u32 pad;
	u64 mem_private;
	u64 mem_shared_owned;
	u64 mem_shared_duped;
	u64 protected_mem[3];
	u32 compute_instance;
	u32 gpu_instance;
};
static_assert(sizeof(struct nvsim_pid_info) == 72);

/* GPU_GET_PID_INFO: number@0, the list @8. */
static u32 nvsim_get_pid_info(struct nvsim_control_call *call)
{
	struct nvsim_pid_info *info = call->params + 8;
	struct nvsim_holder *holders;
	u32 nr_infos = nvsim_get32(call, 0);
	unsigned int i, j, nr;

	if (!nr_infos || nr_infos > NVSIM_MAX_PID_INFOS)
		return NV_ERR_INVALID_ARGUMENT;
	holders = kcalloc(NVSIM_MAX_PIDS, sizeof(*holders), GFP_KERNEL_ACCOUNT);
	if (!holders)
		return NV_ERR_NO_MEMORY;
	nr = nvsim_books_holders(call->obj->gpu, holders, NVSIM_MAX_PIDS);
	for (i = 0; i < nr_infos; i++, info++) {
		u64 bytes = 0;

		for (j = 0; j < nr; j++)
			if (pid_nr_ns(holders[j].pid, task_active_pid_ns(current)) == info->pid)
				bytes = holders[j].bytes;
		*info = (struct nvsim_pid_info) {
			.pid = info->pid,
			.index = info->index,
			.result = info->index ? NV_ERR_INVALID_ARGUMENT : NV_OK,
			.mem_private = bytes,
			.compute_instance = U32_MAX,
			.gpu_instance = U32_MAX,
		};
	}
	while (nr--)
		put_pid(holders[nr].pid);
	kfree(holders);
	return NV_OK;
}

/* NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE: utilisation in 0.01 % and the process behind it. */
struct nvsim_engine_sample {
	u32 util;
	u32 vgpu_scale;
	u32 proc;
	u32 sub_proc;
	char sub_proc_name[100];
};

struct nvsim_util_sample {
	u64 time;
	struct nvsim_engine_sample fb;
	struct nvsim_engine_sample gr;
	struct nvsim_engine_sample nvenc;
	struct nvsim_engine_sample nvdec;
};
static_assert(sizeof(struct nvsim_util_sample) == 472);

#define NVSIM_NO_PROC	U32_MAX

/* GPUMON_PERFMON_UTIL_SAMPLES_V2: type@0 bufSize@4 count@8 tracker@12 samples[72]@16. */
static u32 nvsim_util_samples(struct nvsim_control_call *call)
{
	struct nvsim_util_sample *out = call->params + 16;
	struct nvsim_usage_sample *samples;
	u64 wall = ktime_get_real_ns() - ktime_get_ns();
	unsigned int i;

	samples = kcalloc(NVSIM_USAGE_BUCKETS, sizeof(*samples), GFP_KERNEL_ACCOUNT);
	if (!samples)
		return NV_ERR_NO_MEMORY;
	nvsim_usage_samples(call->obj->gpu, samples);
	memset(out, 0, NVSIM_USAGE_BUCKETS * sizeof(*out));
	for (i = 0; i < NVSIM_USAGE_BUCKETS; i++, out++) {
		u32 proc = pid_nr_ns(samples[i].pid, task_active_pid_ns(current));

		out->time = wall + samples[i].start_ns;
		out->gr.util = div_u64(samples[i].busy_ns * 10000, NVSIM_USAGE_BUCKET_NS);
		out->fb.util = out->gr.util / 3;
		out->gr.proc = proc ?: NVSIM_NO_PROC;
		out->fb.proc = out->gr.proc;
		out->nvenc.proc = NVSIM_NO_PROC;
		out->nvdec.proc = NVSIM_NO_PROC;
		put_pid(samples[i].pid);
	}
	kfree(samples);
	nvsim_put32(call, 8, NVSIM_USAGE_BUCKETS);
	return NV_OK;
}

/* No public name, found by writing one word at a time: GPU % at 8 and memory % at 24. */
static u32 nvsim_utilization(struct nvsim_control_call *call)
{
	unsigned int percent = nvsim_usage_percent(call->obj->gpu);

	nvsim_put32(call, 8, percent);
	nvsim_put32(call, 24, percent / 3);
	return NV_OK;
}

static const struct nvsim_control nvsim_rows[] = {
	NVSIM_CALL(0x2080018d, 3812, nvsim_get_pids),
	NVSIM_CALL(0x2080018e, 14408, nvsim_get_pid_info),
	NVSIM_CALL(0x20802096, 34000, nvsim_util_samples),
	NVSIM_CALL(0x2080a097, 1168, nvsim_utilization),
};

const struct nvsim_control_table nvsim_usage_controls = { nvsim_rows, ARRAY_SIZE(nvsim_rows) };
