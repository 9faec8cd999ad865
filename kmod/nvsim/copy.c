// SPDX-License-Identifier: GPL-2.0-only
/*
 * The copy class, clc7b5.h: lines of bytes from one place to another, or elements rearranged and
 * filled with constants on the way (which is how memory is set). Layouts in blocks, which only
 * textures use, are copied as if they were pitch.
 */
#include <linux/bitfield.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "engine.h"

/* LAUNCH_DMA */
#define LAUNCH_TRANSFER_TYPE	GENMASK(1, 0)	/* 0: none */
#define LAUNCH_SEMAPHORE_TYPE	GENMASK(4, 3)
#define LAUNCH_MULTI_LINE	BIT(9)
#define LAUNCH_REMAP		BIT(10)
#define LAUNCH_REDUCTION	GENMASK(17, 14)
#define LAUNCH_UNSIGNED		BIT(18)
#define LAUNCH_REDUCE		BIT(19)
#define LAUNCH_WIDE		BIT(27)

enum { SEMAPHORE_NONE, SEMAPHORE_PLAIN, SEMAPHORE_WITH_TIME, SEMAPHORE_CONDITIONAL_INTR };

/* SET_REMAP_COMPONENTS */
#define REMAP_DST(x, i)		(((x) >> (4 * (i))) & 7)
#define REMAP_SIZE(x)		((((x) >> 16) & 3) + 1)
#define REMAP_NUM_SRC(x)	((((x) >> 20) & 3) + 1)
#define REMAP_NUM_DST(x)	((((x) >> 24) & 3) + 1)

enum { REMAP_SRC_W = 3, REMAP_CONST_A, REMAP_CONST_B, REMAP_NO_WRITE };

/* How much is copied before others have their turn. */
#define NVSIM_COPY_CHUNK	SZ_1M
/* What a piece counts for at least: short lines take their time too. */
#define NVSIM_COPY_LEAST	256

static void nvsim_copy_semaphore(struct nvsim_channel *ch)
{
	const struct nvsim_copy_regs *c = &ch->copy;
	unsigned int type = FIELD_GET(LAUNCH_SEMAPHORE_TYPE, c->launch);
	bool wide = c->launch & LAUNCH_WIDE;

	if (type == SEMAPHORE_NONE)
		return;
	if (c->launch & LAUNCH_REDUCE)
		nvsim_reduce(ch, c->semaphore, c->payload, wide,
			     FIELD_GET(LAUNCH_REDUCTION, c->launch), c->launch & LAUNCH_UNSIGNED);
	else
		nvsim_release(ch, c->semaphore, c->payload, wide, type == SEMAPHORE_WITH_TIME);
}

static bool nvsim_remap_uses(u32 remap, unsigned int first, unsigned int last)
{
	unsigned int i, dst;

	for (i = 0; i < REMAP_NUM_DST(remap); i++) {
		dst = REMAP_DST(remap, i);
		if (dst >= first && dst <= last)
			return true;
	}
	return false;
}

static void nvsim_remap_element(const struct nvsim_copy_regs *c, u8 *to, const u8 *from)
{
	u32 remap = c->remap_components;
	unsigned int i, dst, size = REMAP_SIZE(remap);

	for (i = 0; i < REMAP_NUM_DST(remap); i++, to += size) {
		dst = REMAP_DST(remap, i);
		if (dst <= REMAP_SRC_W)
			memcpy(to, from + dst * size, size);
		else if (dst <= REMAP_CONST_B)
			memcpy(to, &c->remap_const[dst - REMAP_CONST_A], size);
	}
}

/* Some elements of a line; their number, or an errno. */
static int nvsim_remap_piece(struct nvsim_channel *ch, u64 in, u64 out, u32 elements)
{
	const struct nvsim_copy_regs *c = &ch->copy;
	u32 remap = c->remap_components;
	unsigned int src_size = REMAP_SIZE(remap) * REMAP_NUM_SRC(remap);
	unsigned int dst_size = REMAP_SIZE(remap) * REMAP_NUM_DST(remap);
	u32 i, n = min_t(u32, elements, PAGE_SIZE / max(src_size, dst_size));
	u8 *from = ch->engine->bounce[0], *to = ch->engine->bounce[1];
	bool reads = nvsim_remap_uses(remap, 0, REMAP_SRC_W);
	int err = 0;

	/* A source component beyond those that an element has reads as zero. */
	if (reads) {
		memset(from, 0, PAGE_SIZE);
		err = nvsim_vas_read(ch->vas, in, from, n * src_size);
	}
	if (!err && nvsim_remap_uses(remap, REMAP_NO_WRITE, 7))
		err = nvsim_vas_read(ch->vas, out, to, n * dst_size);
	if (err)
		return err;
	for (i = 0; i < n; i++)
		nvsim_remap_element(c, to + i * dst_size, from + (reads ? i * src_size : 0));
	return nvsim_vas_write(ch->vas, out, to, n * dst_size) ?: n;
}

/* A fill with constants: the elements of one page serve for all. Their number, or an errno. */
static int nvsim_fill(struct nvsim_channel *ch, u64 out, u32 elements, u32 budget)
{
	const struct nvsim_copy_regs *c = &ch->copy;
	unsigned int size = REMAP_SIZE(c->remap_components) * REMAP_NUM_DST(c->remap_components);
	u32 i, done, n = min(elements, max(budget / size, 1U));
	u32 per_page = min_t(u32, n, PAGE_SIZE / size);
	u8 *page = ch->engine->bounce[1];
	int err = 0;

	for (i = 0; i < per_page; i++)
		nvsim_remap_element(c, page + i * size, NULL);
	if (!memchr_inv(page, 0, size))
		return nvsim_vas_clear(ch->vas, out, (size_t)n * size) ?: n;
	for (done = 0; done < n && !err; done += per_page)
		err = nvsim_vas_write(ch->vas, out + (u64)done * size, page,
				      min(per_page, n - done) * size);
	return err ?: n;
}

/* Bytes that a piece of the current line had, or an errno. */
static int nvsim_copy_piece(struct nvsim_channel *ch, u32 budget)
{
	struct nvsim_copy_regs *c = &ch->copy;
	u64 in = c->in + (u64)c->line * c->pitch_in;
	u64 out = c->out + (u64)c->line * c->pitch_out;
	u32 left = c->line_length - c->done, n, remap = c->remap_components;
	unsigned int src_size, dst_size;
	int ret;

	if (c->launch & LAUNCH_REMAP) {
		src_size = REMAP_SIZE(remap) * REMAP_NUM_SRC(remap);
		dst_size = REMAP_SIZE(remap) * REMAP_NUM_DST(remap);
		in += (u64)c->done * src_size;
		out += (u64)c->done * dst_size;
		if (nvsim_remap_uses(remap, REMAP_CONST_A, REMAP_CONST_B) &&
		    !nvsim_remap_uses(remap, 0, REMAP_SRC_W) &&
		    !nvsim_remap_uses(remap, REMAP_NO_WRITE, 7))
			ret = nvsim_fill(ch, out, left, budget);
		else
			ret = nvsim_remap_piece(ch, in, out, left);
		if (ret < 0)
			return ret;
		c->done += ret;
		return ret * dst_size;
	}
	n = min(left, budget);
	ret = nvsim_vas_copy(ch->vas, out + c->done, in + c->done, n);
	if (ret)
		return ret;
	c->done += n;
	return n;
}

bool nvsim_copy_step(struct nvsim_channel *ch)
{
	struct nvsim_copy_regs *c = &ch->copy;
	u32 lines = c->launch & LAUNCH_MULTI_LINE ? c->line_count : 1;
	u32 budget = NVSIM_COPY_CHUNK;
	int n;

	if (!FIELD_GET(LAUNCH_TRANSFER_TYPE, c->launch) || !c->line_length)
		lines = 0;

	while (c->line < lines) {
		if (!budget)
			return false;
		n = nvsim_copy_piece(ch, budget);
		if (n < 0) {
			nvsim_channel_fault(ch, "copy", c->out + (u64)c->line * c->pitch_out);
			return false;
		}
		budget -= min_t(u32, budget, max(n, NVSIM_COPY_LEAST));
		if (c->done == c->line_length) {
			c->done = 0;
			c->line++;
		}
	}
	nvsim_copy_semaphore(ch);
	return ch->state != NVSIM_CH_FAULTED;
}
