/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of RM controls, one a file, and what their handlers share. */
#ifndef NVSIM_CONTROL_H
#define NVSIM_CONTROL_H

#include "nvsim.h"

extern const struct nvsim_control_table nvsim_root_controls;	/* ctl_root.c: 0x0000.... */
extern const struct nvsim_control_table nvsim_device_controls;	/* ctl_device.c: 0x0080.... */
extern const struct nvsim_control_table nvsim_gpu_controls;	/* ctl_gpu.c: 0x2080.... identity */
extern const struct nvsim_control_table nvsim_fb_controls;	/* ctl_fb.c: memory sizes */
extern const struct nvsim_control_table nvsim_gr_controls;	/* ctl_gr.c: engines, SMs */
extern const struct nvsim_control_table nvsim_usage_controls;	/* ctl_usage.c: who uses it */

/* Words of a reply, by byte offset. */
static inline void nvsim_put32(struct nvsim_control_call *call, u32 at, u32 value)
{
	*(u32 *)(call->params + at) = value;
}

static inline u32 nvsim_get32(const struct nvsim_control_call *call, u32 at)
{
	return *(const u32 *)(call->params + at);
}

static inline void nvsim_put64(struct nvsim_control_call *call, u32 at, u64 value)
{
	*(u64 *)(call->params + at) = value;
}

/* Rows: a handler; only zeros; constant words; success with the parameters as they came. */
#define NVSIM_CALL(cmd_, size, fn)	{ .cmd = (cmd_), .params_size = (size), .handler = (fn) }
#define NVSIM_ZEROS(cmd_, size)		NVSIM_CALL(cmd_, size, nvsim_control_zero)
#define NVSIM_ECHO(cmd_, size)		{ .cmd = (cmd_), .params_size = (size) }
#define NVSIM_WORDS(cmd_, size, words_) \
	{ .cmd = (cmd_), .params_size = (size), .words = (words_), .nr_words = ARRAY_SIZE(words_) }

/* {index, data} pairs, as the INFO controls pass them. */
struct nvsim_info {
	u32 index;
	u32 data;
};

/* Fills nr pairs from a table of known ones; what is not known is 0. */
void nvsim_fill_info(struct nvsim_info *list, u32 nr, const struct nvsim_info *known, u32 nr_known);

/* Handler of a control that only answers and answers zeros. */
u32 nvsim_control_zero(struct nvsim_control_call *call);

#endif
