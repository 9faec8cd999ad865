/* SPDX-License-Identifier: GPL-2.0-only */
/* One ioctl on nvidiactl or nvidia<n>, from the copy in to the copy out. */
#ifndef VGPU_FRONTEND_H
#define VGPU_FRONTEND_H

#include <linux/fs.h>
#include <linux/types.h>

#include "abi/report.h"
#include "abi/rm.h"
#include "seal.h"

struct vgpu_file;
struct vgpu_node;
struct vgpu_tenant;

/* The largest argument that an ioctl number can carry. */
#define VGPU_MAX_ARG		((1u << _IOC_SIZEBITS) - 1)

/**
 * struct vgpu_call - the call
 * @file, @node, @tenant: on what
 * @cmd, @arg: as they are forwarded; a wrapped request is unwrapped first
 * @len: bytes behind @arg
 * @outer: a copy of them
 * @req: decoded
 */
struct vgpu_call {
	struct file *file;
	const struct vgpu_node *node;
	struct vgpu_tenant *tenant;
	unsigned int cmd;
	void __user *arg;
	u32 len;
	void *outer;
	struct vgpu_rm_req req;
};

/* frontend.c */
long vgpu_call_forward(const struct vgpu_call *call);
/* The ioctl succeeds with an RM status; 0 or an errno. */
long vgpu_call_answer(struct vgpu_call *call, u32 status);
/* Whatever the verdict says, when it is not to forward. */
long vgpu_call_refuse(struct vgpu_call *call);
/* Nobody but the caller can have written to its memory during the call. */
bool vgpu_call_alone(void);

/* objects.c: requests that make or free RM objects. */
long vgpu_call_alloc(struct vgpu_call *call);
long vgpu_call_free(struct vgpu_call *call);
void vgpu_objects_init(void);
void vgpu_clients_drop(struct vgpu_file *vf);

/* ask.c: questions of ours to the driver, in the caller's context. */
long vgpu_ask_control(const struct vgpu_call *call, u32 client, u32 object, u32 cmd, void *params,
		      u32 size);
void vgpu_ask_free(const struct vgpu_call *call, u32 client, u32 parent, u32 object);
u64 vgpu_ask_context_bytes(const struct vgpu_call *call, u32 slice);
/* The tenant's GPUs, one per slice; NULL when the driver does not tell. */
const struct vgpu_gpu_view *vgpu_ask_views(const struct vgpu_call *call);
/* Index of the slice of a device instance, VGPU_NO_SLICE when it is none of the tenant's. */
u32 vgpu_ask_slice(const struct vgpu_call *call, u32 instance);

/* report.c: requests whose answers are rewritten. */
long vgpu_report_control(struct vgpu_call *call);
long vgpu_report_card_info(struct vgpu_call *call);
long vgpu_report_attach(struct vgpu_call *call);
long vgpu_report_heap(struct vgpu_call *call);

#endif /* VGPU_FRONTEND_H */
