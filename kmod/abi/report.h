/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a tenant is shown: the driver's answers, rewritten in place after they came back. Pure
 * functions on buffers; each reads and writes only buf[0..len).
 *
 * Sources of the formulas: NVML and CUDA 535.309.01 watched while single words were changed; the
 * kernel side does the same for MIG clients (535
 * src/nvidia/src/kernel/gpu/mem_sys/kern_mem_sys_ctrl.c).
 */
#ifndef VGPU_REPORT_H
#define VGPU_REPORT_H

#include "rm.h"

/**
 * struct vgpu_gpu_view - a GPU of the tenant
 * @gpu_id: RM's id of it (nv_ioctl_card_info_t.gpu_id)
 * @host_minor: minor number of the driver's node
 * @minor: minor number that the tenant sees
 */
struct vgpu_gpu_view {
	u32 gpu_id;
	u32 host_minor;
	u32 minor;
};

/**
 * struct vgpu_pid_view - a process of the tenant, as the reader's pid namespace sees it
 * @pid: process
 * @bytes: what it holds on the slice asked about
 */
struct vgpu_pid_view {
	u32 pid;
	u64 bytes;
};

/*
 * FB_GET_INFO and _V2: @list is @count elements of {index, data}, data in KiB. Sizes become @max,
 * free becomes what is left of it and is never more than the device really has free.
 */
void vgpu_report_fb_list(const struct vgpu_rm_abi *abi, void *list, u32 list_len, u32 count,
			 u64 max, u64 cur);
/* The parameters of FB_GET_INFO_V2 with the list inside. */
void vgpu_report_fb_info_v2(const struct vgpu_rm_req *req, void *buf, u32 len, u64 max, u64 cur);
/* VID_HEAP_CONTROL function INFO: total, free, size; bytes. */
void vgpu_report_heap_info(const struct vgpu_rm_req *req, void *buf, u32 len, u64 max, u64 cur);

/*
 * CARD_INFO: keeps the granted GPUs, in the driver's order without gaps, each with the tenant's
 * minor number; the rest is zeroed. Returns how many are left.
 */
u32 vgpu_report_cards(const struct vgpu_rm_abi *abi, void *buf, u32 len,
		      const struct vgpu_gpu_view *gpus, u32 nr_gpus);
/* gpu_id of the GPU with minor number @host_minor in an unfiltered CARD_INFO. */
bool vgpu_report_card_id(const struct vgpu_rm_abi *abi, const void *buf, u32 len, u32 host_minor,
			 u32 *gpu_id);

/* Attached and probed ids: keeps the granted ones without gaps, the rest becomes ~0. */
void vgpu_report_ids(const struct vgpu_rm_req *req, void *buf, u32 len,
		     const struct vgpu_gpu_view *gpus, u32 nr_gpus);
/*
 * True when every id that an id control names (ATTACH_IDS, GET_ID_INFO, ATTACH_GPUS_TO_FD) is
 * granted. "All" in ATTACH_IDS is replaced by the granted ones; the caller writes the buffer back
 * before the forward.
 */
bool vgpu_report_ids_granted(const struct vgpu_rm_req *req, void *buf, u32 len,
			     const struct vgpu_gpu_view *gpus, u32 nr_gpus);

/* GET_PIDS: keeps the pids in @pids, without gaps. */
void vgpu_report_pids(const struct vgpu_rm_req *req, void *buf, u32 len,
		      const struct vgpu_pid_view *pids, u32 nr_pids);
/*
 * GET_PID_INFO: memory of the tenant's pids from its books. Others hold nothing, which is what the
 * driver says of a pid that it does not know (535.288.01 gpu_rmapi.c,
 * gpuFindClientInfoWithPidIterator).
 */
void vgpu_report_pid_info(const struct vgpu_rm_req *req, void *buf, u32 len,
			  const struct vgpu_pid_view *pids, u32 nr_pids);

#endif /* VGPU_REPORT_H */
