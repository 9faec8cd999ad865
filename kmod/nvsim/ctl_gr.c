// SPDX-License-Identifier: GPL-2.0-only
/* Controls about the graphics engine: a GA102 with 7 GPCs, 42 TPCs, 84 SMs (ctrl2080gr.h). */
#include "control.h"

#define NVSIM_GPCS		7
#define NVSIM_TPCS_PER_GPC	6
#define NVSIM_SMS_PER_TPC	2
#define NVSIM_SMS		(NVSIM_GPCS * NVSIM_TPCS_PER_GPC * NVSIM_SMS_PER_TPC)

/* NV2080_CTRL_GR_INFO_INDEX_*: 0x0c is SM_VERSION, 0x14 GPCs, 0x17 TPCs of one, 0x22 SMs. */
static const struct nvsim_info nvsim_gr_known[] = {
	{ 0x00, 0x8 }, { 0x03, 0x20 }, { 0x04, 0x10 }, { 0x06, 0x7 }, { 0x07, 0x7 }, { 0x08, 0x2 },
	{ 0x09, 0x2a }, { 0x0a, 0x4 }, { 0x0b, 0x200 }, { 0x0c, 0x806 }, { 0x0d, 0x30 },
	{ 0x0e, 0x20 }, { 0x11, 0x40 }, { 0x12, 0x40 }, { 0x13, 0x80 }, { 0x14, NVSIM_GPCS },
	{ 0x15, 0x6 }, { 0x16, 0x1 }, { 0x17, NVSIM_TPCS_PER_GPC }, { 0x18, 0x1 }, { 0x19, 0x1 },
	{ 0x1a, 0x1 }, { 0x1b, 0x6 }, { 0x1c, 0x3 }, { 0x1d, 0x2a00 }, { 0x1e, 0x2 },
	{ 0x1f, 0x1 }, { 0x20, 0x2 }, { 0x22, NVSIM_SMS }, { 0x23, 0x150 }, { 0x24, 0x1 },
	{ 0x25, 0xc }, { 0x26, 0x30 }, { 0x27, 0x1 }, { 0x28, 0x2 }, { 0x29, 0x2 }, { 0x2a, 0x6 },
	{ 0x2b, 0x1 }, { 0x2c, 0x40 }, { 0x2d, 0x1 }, { 0x2e, 0x40 }, { 0x2f, 0x1 }, { 0x32, 0x4 },
};

static u32 nvsim_gr_info(struct nvsim_control_call *call)
{
	nvsim_fill_info(call->list[0], call->list_size[0] / sizeof(struct nvsim_info),
			nvsim_gr_known, ARRAY_SIZE(nvsim_gr_known));
	return NV_OK;
}

/* GR_GET_CTX_BUFFER_SIZE: hChannel@0, totalBufferSize@8. */
static u32 nvsim_gr_ctx_size(struct nvsim_control_call *call)
{
	nvsim_put64(call, 8, nvsim_config.context_bytes);
	return NV_OK;
}

/*
 * GR_GET_GLOBAL_SM_ORDER: {gpc, localTpc, localSm, globalTpc, virtualGpc, migratableTpc} as u16 for
 * 512 SMs, numSm@6144/2, numTpc@6146/2. GPCs vary fastest.
 */
static u32 nvsim_gr_sm_order(struct nvsim_control_call *call)
{
	u16 *out = call->params;
	unsigned int sm;

	memset(call->params, 0, call->params_size);
	for (sm = 0; sm < NVSIM_SMS; sm++, out += 6) {
		unsigned int tpc = sm / NVSIM_SMS_PER_TPC;

		out[0] = tpc % NVSIM_GPCS;
		out[1] = tpc / NVSIM_GPCS;
		out[2] = sm % NVSIM_SMS_PER_TPC;
		out[3] = tpc;
		out[4] = out[0];
		out[5] = tpc;
	}
	out = call->params + 6144;
	out[0] = NVSIM_SMS;
	out[1] = NVSIM_SMS / NVSIM_SMS_PER_TPC;
	return NV_OK;
}

static const struct nvsim_words nvsim_gpc_mask[] = { { 16, BIT(NVSIM_GPCS) - 1 } };
static const struct nvsim_words nvsim_tpc_mask[] = { { 20, BIT(NVSIM_TPCS_PER_GPC) - 1 } };

static const struct nvsim_control nvsim_rows[] = {
	{	/* GR_GET_INFO: number@0, {index, data} list@8 */
		.cmd = 0x20801201, .params_size = 32, .handler = nvsim_gr_info,
		.embedded = {
			{ .ptr_at = 8, .count_at = 0, .elem_size = sizeof(struct nvsim_info),
			  .copy_in = true, .max = 64 },
		},
	},
	NVSIM_CALL(0x20801218, 16, nvsim_gr_ctx_size),
	NVSIM_CALL(0x2080121b, 6168, nvsim_gr_sm_order),
	NVSIM_ZEROS(0x20801227, 48),	/* GR_GET_CAPS_V2 */
	NVSIM_WORDS(0x2080122a, 24, nvsim_gpc_mask),	/* GR_GET_GPC_MASK */
	NVSIM_WORDS(0x2080122b, 24, nvsim_tpc_mask),	/* GR_GET_TPC_MASK of the GPC at 16 */
};

const struct nvsim_control_table nvsim_gr_controls = { nvsim_rows, ARRAY_SIZE(nvsim_rows) };
