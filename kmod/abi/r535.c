// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Driver branch 535: its versions and the tables that each of them uses.
 *
 * Measured over the headers of all 38 published versions: one struct of those used here differs
 * inside the branch, NV_CHANNEL_ALLOC_PARAMS (src/common/sdk/nvidia/inc/alloc/alloc_channel.h),
 * and not by order of version: 535.43.02 and 535.54.03 have the shorter one. 535.309.01 was
 * published without source; its user space is laid out as 535.288.01.
 */
#include "tables.h"

#define R535(bytes)						\
	{							\
		.name = "535",					\
		.escapes = &vgpu_r535_escapes,			\
		.classes = &vgpu_r535_classes,			\
		.controls = &vgpu_r535_controls,		\
		.functions = &vgpu_r535_functions,		\
		.memories = &vgpu_r535_memories,		\
		.uvm = &vgpu_r535_uvm,				\
		.items = &vgpu_r535_items,			\
		.control_nr = 0x2a,				\
		.control_size = 32,				\
		.control_cmd = 8,				\
		.channel_size = (bytes),			\
	}

static const struct vgpu_rm_abi r535_early = R535(304);
static const struct vgpu_rm_abi r535 = R535(360);

static const struct vgpu_rm_version versions[] = {
	{ "535.43.02", &r535_early },
	{ "535.43.08", &r535 },
	{ "535.43.09", &r535 },
	{ "535.43.10", &r535 },
	{ "535.43.11", &r535 },
	{ "535.43.13", &r535 },
	{ "535.43.15", &r535 },
	{ "535.43.16", &r535 },
	{ "535.43.19", &r535 },
	{ "535.43.20", &r535 },
	{ "535.43.22", &r535 },
	{ "535.43.23", &r535 },
	{ "535.43.24", &r535 },
	{ "535.43.25", &r535 },
	{ "535.43.28", &r535 },
	{ "535.54.03", &r535_early },
	{ "535.86.05", &r535 },
	{ "535.86.10", &r535 },
	{ "535.98", &r535 },
	{ "535.104.05", &r535 },
	{ "535.104.12", &r535 },
	{ "535.113.01", &r535 },
	{ "535.129.03", &r535 },
	{ "535.146.02", &r535 },
	{ "535.154.05", &r535 },
	{ "535.161.07", &r535 },
	{ "535.161.08", &r535 },
	{ "535.171.04", &r535 },
	{ "535.179", &r535 },
	{ "535.183.01", &r535 },
	{ "535.183.06", &r535 },
	{ "535.216.01", &r535 },
	{ "535.216.03", &r535 },
	{ "535.230.02", &r535 },
	{ "535.247.01", &r535 },
	{ "535.261.03", &r535 },
	{ "535.274.02", &r535 },
	{ "535.288.01", &r535 },
	{ "535.309.01", &r535 },
};

const struct vgpu_rm_branch vgpu_r535 = TABLE(versions);
