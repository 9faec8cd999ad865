// SPDX-License-Identifier: GPL-2.0-only
/* Controls of a subdevice: what GPU it is (ctrl2080gpu.h, -bus, -mc, -tmr, -ce of 535.288.01). */
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "control.h"

#define NVSIM_SUBSYSTEM		0x145910de

/* GPU_GET_INFO_V2: number@0, {index, data}[64]@4. Nothing that it knows is special here. */
static u32 nvsim_gpu_info_v2(struct nvsim_control_call *call)
{
	u32 nr = nvsim_get32(call, 0);

	if (nr > (call->params_size - 4) / sizeof(struct nvsim_info))
		return NV_ERR_INVALID_PARAM_STRUCT;
	nvsim_fill_info(call->params + 4, nr, NULL, 0);
	return NV_OK;
}

/* GPU_GET_NAME_STRING: flags@0 (0 ASCII, 1 UTF-16), 64 characters@4. */
static u32 nvsim_gpu_name(struct nvsim_control_call *call)
{
	const char *name = call->obj->gpu->name;
	u16 *wide = call->params + 4;
	unsigned int i;

	memset(call->params + 4, 0, call->params_size - 4);
	switch (nvsim_get32(call, 0)) {
	case 0:
		strscpy(call->params + 4, name, 64);
		return NV_OK;
	case 1:
		for (i = 0; i < 63 && name[i]; i++)
			wide[i] = name[i];
		return NV_OK;
	default:
		return NV_ERR_INVALID_ARGUMENT;
	}
}

static u32 nvsim_gpu_short_name(struct nvsim_control_call *call)
{
	memset(call->params, 0, call->params_size);
	strscpy(call->params, "GA102-A", 64);
	return NV_OK;
}

/* GPU_GET_GID_INFO: index@0 flags@4 length@8 data[256]@12; flags bit 1: binary. */
static u32 nvsim_gpu_gid(struct nvsim_control_call *call)
{
	const struct nvsim_gpu *gpu = call->obj->gpu;

	if (nvsim_get32(call, 0))
		return NV_ERR_INVALID_ARGUMENT;
	memset(call->params + 12, 0, 256);
	if (nvsim_get32(call, 4) & 2) {
		memcpy(call->params + 12, gpu->uuid, sizeof(gpu->uuid));
		nvsim_put32(call, 8, sizeof(gpu->uuid));
	} else {
		nvsim_put32(call, 8, nvsim_gpu_uuid_string(gpu, call->params + 12, 256));
	}
	return NV_OK;
}

/* GPU_GET_ENGINES_V2: number@0, types@4: graphics, two copy engines and their like of a GA102. */
static u32 nvsim_gpu_engines(struct nvsim_control_call *call)
{
	static const u32 engines[] = { 0x1, 0x9, 0xa, 0xb, 0x13, 0x1b };

	memset(call->params, 0, call->params_size);
	nvsim_put32(call, 0, ARRAY_SIZE(engines));
	memcpy(call->params + 4, engines, sizeof(engines));
	return NV_OK;
}

/*
 * TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO: cpuClkId@0/1 sampleCount@1/1 {cpuTime, gpuTime}[16]@8.
 * The CPU clock in us for OSTIME and ns else; the GPU's is the wall clock in ns.
 */
static u32 nvsim_time_correlation(struct nvsim_control_call *call)
{
	const u8 *bytes = call->params;
	unsigned int i, nr = bytes[1];

	if (nr > 16)
		return NV_ERR_INVALID_ARGUMENT;
	for (i = 0; i < nr; i++) {
		u64 now = ktime_get_real_ns();

		nvsim_put64(call, 8 + i * 16, (bytes[0] & 0xf) == 1 ? now / NSEC_PER_USEC : now);
		nvsim_put64(call, 16 + i * 16, now);
	}
	return NV_OK;
}

/* BIOS_GET_INFO: number@0, {index, data} list@8; the revision is shown as 94.02.53.00.01. */
static u32 nvsim_bios_info(struct nvsim_control_call *call)
{
	static const struct nvsim_info known[] = { { 0, 0x94025300 }, { 1, 0x01 } };

	nvsim_fill_info(call->list[0], call->list_size[0] / sizeof(struct nvsim_info), known,
			ARRAY_SIZE(known));
	return NV_OK;
}

/* BUS_GET_INFO_V2: number@0, {index, data}[52]@4. Index 0 is the type, 8 stands for PCIe. */
static const struct nvsim_info nvsim_bus_known[] = { { 0, 8 } };

static u32 nvsim_bus_info(struct nvsim_control_call *call)
{
	nvsim_fill_info(call->list[0], call->list_size[0] / sizeof(struct nvsim_info),
			nvsim_bus_known, ARRAY_SIZE(nvsim_bus_known));
	return NV_OK;
}

static u32 nvsim_bus_info_v2(struct nvsim_control_call *call)
{
	u32 nr = nvsim_get32(call, 0);

	if (nr > (call->params_size - 4) / sizeof(struct nvsim_info))
		return NV_ERR_INVALID_PARAM_STRUCT;
	nvsim_fill_info(call->params + 4, nr, nvsim_bus_known, ARRAY_SIZE(nvsim_bus_known));
	return NV_OK;
}

static const struct nvsim_words nvsim_arch[] = { { 0, 0x170 }, { 4, 2 }, { 8, 0xa1 }, { 12, 0 } };
static const struct nvsim_words nvsim_pci[] = {
	{ 0, NVSIM_PCI_DEVICE << 16 | NVSIM_PCI_VENDOR },
	{ 4, NVSIM_SUBSYSTEM },
	{ 8, 0xa1 },
	{ 12, NVSIM_PCI_DEVICE },
};
static const struct nvsim_words nvsim_watchdog[] = { { 0, 2 } };	/* disabled */
static const struct nvsim_words nvsim_ce_present[] = { { 64, 0x1f } };
static const struct nvsim_words nvsim_all_ones[] = { { 0, 0xffffffff }, { 4, 0xffffffff } };
static const struct nvsim_words nvsim_domain_mask[] = { { 4, 0xffffffff } };
/* Clocks of a domain in kHz: now, and two limits. */
static const struct nvsim_words nvsim_clocks[] = {
	{ 12, 1410000 }, { 16, 1455000 }, { 20, 1500000 },
};

static const struct nvsim_control nvsim_rows[] = {
	NVSIM_CALL(0x20800102, 516, nvsim_gpu_info_v2),
	NVSIM_CALL(0x20800110, 132, nvsim_gpu_name),
	NVSIM_CALL(0x20800111, 64, nvsim_gpu_short_name),
	NVSIM_ZEROS(0x20800119, 4),	/* GET_SIMULATION_INFO */
	NVSIM_ZEROS(0x20800131, 4),	/* COMPUTE_MODE_RULES */
	NVSIM_ECHO(0x20800145, 0),	/* no public name */
	NVSIM_ECHO(0x20800146, 0),	/* no public name */
	NVSIM_CALL(0x2080014a, 268, nvsim_gpu_gid),
	NVSIM_CALL(0x20800170, 252, nvsim_gpu_engines),
	NVSIM_ZEROS(0x2080018b, 40),	/* no MIG */
	NVSIM_CALL(0x20800406, 264, nvsim_time_correlation),
	{
		.cmd = 0x20800802, .params_size = 16, .handler = nvsim_bios_info,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = sizeof(struct nvsim_info),
			  .copy_in = true, .max = 16 },
		},
	},
	NVSIM_WORDS(0x20801701, 16, nvsim_arch),
	NVSIM_WORDS(0x20801801, 16, nvsim_pci),
	{
		.cmd = 0x20801802, .params_size = 16, .handler = nvsim_bus_info,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = sizeof(struct nvsim_info),
			  .copy_in = true, .max = 64 },
		},
	},
	NVSIM_CALL(0x20801823, 420, nvsim_bus_info_v2),
	NVSIM_ZEROS(0x2080182a, 104),	/* no PCIe atomics */
	NVSIM_ECHO(0x2080200a, 8),	/* PERF_BOOST */
	NVSIM_WORDS(0x20802209, 4, nvsim_watchdog),
	NVSIM_WORDS(0x20802a0a, 68, nvsim_ce_present),
	NVSIM_ZEROS(0x20803601, 72),	/* no GSP firmware */
	/* No public names: what makes NVML and the CUDA runtime content. */
	NVSIM_ECHO(0x20808159, 332),
	NVSIM_WORDS(0x20809001, 8, nvsim_all_ones),
	NVSIM_WORDS(0x20809009, 8, nvsim_domain_mask),
	NVSIM_WORDS(0x20809064, 520, nvsim_clocks),
	NVSIM_ECHO(0x2080a026, 532),
	NVSIM_ZEROS(0x2080a084, 4),
};

const struct nvsim_control_table nvsim_gpu_controls = { nvsim_rows, ARRAY_SIZE(nvsim_rows) };
