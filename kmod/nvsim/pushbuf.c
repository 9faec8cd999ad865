// SPDX-License-Identifier: GPL-2.0-only
/*
 * Push buffers: what channels are told to do.
 *
 * Entry and header formats, host methods: class/clc56f.h of 535.288.01; copy class: clc7b5.h;
 * compute: clc7c0.h of NVIDIA's open-gpu-doc. Methods that only set up what a simulated GPU has no
 * use for (shader windows, caches, texture headers) pass without effect.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mm.h>
#include <linux/timekeeping.h>

#include "engine.h"

/* Control words in USERD, Nvc56fControl */
#define USERD_GP_GET		0x88
#define USERD_GP_PUT		0x8c

/* How much a channel does before others have their turn. */
#define NVSIM_STEP_WORDS	4096

/* Kinds of method headers, bits 31..29 */
enum {
	HDR_TERT_0	= 0,
	HDR_INC		= 1,
	HDR_TERT_2	= 2,
	HDR_NON_INC	= 3,
	HDR_IMMEDIATE	= 4,
	HDR_ONE_INC	= 5,
	HDR_RESERVED	= 6,
	HDR_END_SEGMENT	= 7,
};

/* Host methods */
#define HOST_SET_OBJECT		0x00
#define HOST_SEMAPHOREA		0x10
#define HOST_SEMAPHOREB		0x14
#define HOST_SEMAPHOREC		0x18
#define HOST_SEMAPHORED		0x1c
#define HOST_SEM_ADDR_LO	0x5c
#define HOST_SEM_ADDR_HI	0x60
#define HOST_SEM_PAYLOAD_LO	0x64
#define HOST_SEM_PAYLOAD_HI	0x68
#define HOST_SEM_EXECUTE	0x6c
#define HOST_METHODS_END	0x100	/* engines' methods begin here */

/* Copy class */
#define CE_SET_SEMAPHORE_A		0x240
#define CE_SET_SEMAPHORE_B		0x244
#define CE_SET_SEMAPHORE_PAYLOAD	0x248
#define CE_SET_SEMAPHORE_PAYLOAD_UPPER	0x24c
#define CE_LAUNCH_DMA			0x300
#define CE_OFFSET_IN_UPPER		0x400
#define CE_OFFSET_IN_LOWER		0x404
#define CE_OFFSET_OUT_UPPER		0x408
#define CE_OFFSET_OUT_LOWER		0x40c
#define CE_PITCH_IN			0x410
#define CE_PITCH_OUT			0x414
#define CE_LINE_LENGTH_IN		0x418
#define CE_LINE_COUNT			0x41c
#define CE_SET_REMAP_CONST_A		0x700
#define CE_SET_REMAP_CONST_B		0x704
#define CE_SET_REMAP_COMPONENTS		0x708

/* Inline to memory */
#define I2M_LINE_LENGTH_IN		0x180
#define I2M_LINE_COUNT			0x184
#define I2M_OFFSET_OUT_UPPER		0x188
#define I2M_OFFSET_OUT			0x18c
#define I2M_PITCH_OUT			0x190
#define I2M_LAUNCH_DMA			0x1b0
#define I2M_LOAD_INLINE_DATA		0x1b4
#define I2M_SET_SEMAPHORE_A		0x1dc
#define I2M_SET_SEMAPHORE_B		0x1e0
#define I2M_SET_SEMAPHORE_C		0x1e4

#define I2M_COMPLETION_TYPE(x)		(((x) >> 4) & 3)
#define I2M_COMPLETION_SEMAPHORE	2
#define I2M_SEMAPHORE_ONE_WORD		BIT(12)

/* Compute class */
#define COMPUTE_SEND_PCAS_A		0x2b4
#define COMPUTE_SEND_SIGNALING_PCAS_B	0x2bc
#define COMPUTE_SEND_SIGNALING_PCAS2_B	0x2c0
#define COMPUTE_SET_INLINE_QMD_A	0x318
#define COMPUTE_SET_INLINE_QMD_B	0x31c
#define COMPUTE_LOAD_INLINE_QMD		0x320	/* and 63 more */
#define COMPUTE_SET_REPORT_SEMAPHORE_A	0x1b00
#define COMPUTE_SET_REPORT_SEMAPHORE_B	0x1b04
#define COMPUTE_SET_REPORT_SEMAPHORE_C	0x1b08
#define COMPUTE_SET_REPORT_SEMAPHORE_D	0x1b0c

#define PCAS_SCHEDULE			BIT(1)
#define PCAS2_ACTION(x)			((x) & 0xf)
#define PCAS2_INVALIDATE		1
#define REPORT_OPERATION(x)		((x) & 3)
#define REPORT_RELEASE			0
#define REPORT_ONE_WORD			BIT(28)

static inline void nvsim_set_hi(u64 *reg, u32 word)
{
	*reg = (u64)word << 32 | (u32)*reg;
}

static inline void nvsim_set_lo(u64 *reg, u32 word)
{
	*reg = (*reg & ~(u64)U32_MAX) | word;
}

u64 nvsim_gpu_time_ns(void)
{
	return ktime_get_real_ns();
}

/*
 * What the driver leaves for a client whose channel died: NvNotification {u64 time; u32 info; u16
 * info; u16 status} in the channel's error notifier, and a line in the log as its Xid.
 */
void nvsim_channel_fault(struct nvsim_channel *ch, const char *what, u64 address)
{
	enum { MMU_FAULT = 31, STATUS_ERROR = 0xffff };
	u64 now = nvsim_gpu_time_ns();

	pr_info_ratelimited("Xid (PCI:0000:%02x:00): %d, channel %u of client 0x%x: %s at 0x%llx\n",
			    ch->engine->gpu->bus, MMU_FAULT, ch->chid, ch->client, what, address);
	ch->state = NVSIM_CH_FAULTED;
	if (ch->notifier) {
		nvsim_mem_store(ch->notifier, 0, lower_32_bits(now));
		nvsim_mem_store(ch->notifier, 4, upper_32_bits(now));
		nvsim_mem_store(ch->notifier, 8, MMU_FAULT);
		nvsim_mem_store(ch->notifier, 12, (u32)STATUS_ERROR << 16);
	}
}

static void nvsim_host_method(struct nvsim_channel *ch, u32 method, u32 data)
{
	struct nvsim_host_regs *h = &ch->host;

	switch (method) {
	case HOST_SET_OBJECT:
		ch->class[ch->subchannel] = data & 0xffff;
		break;
	case HOST_SEMAPHOREA:
		nvsim_set_hi(&h->old_address, data & 0xff);
		break;
	case HOST_SEMAPHOREB:
		nvsim_set_lo(&h->old_address, data & ~3U);
		break;
	case HOST_SEMAPHOREC:
		h->old_payload = data;
		break;
	case HOST_SEMAPHORED:
		nvsim_old_semaphore(ch, data);
		break;
	case HOST_SEM_ADDR_LO:
		nvsim_set_lo(&h->address, data & ~3U);
		break;
	case HOST_SEM_ADDR_HI:
		nvsim_set_hi(&h->address, data & 0xff);
		break;
	case HOST_SEM_PAYLOAD_LO:
		nvsim_set_lo(&h->payload, data);
		break;
	case HOST_SEM_PAYLOAD_HI:
		nvsim_set_hi(&h->payload, data);
		break;
	case HOST_SEM_EXECUTE:
		nvsim_sem_execute(ch, data);
		break;
	default:
		break;
	}
}

static void nvsim_copy_method(struct nvsim_channel *ch, u32 method, u32 data)
{
	struct nvsim_copy_regs *c = &ch->copy;

	switch (method) {
	case CE_SET_SEMAPHORE_A:
		nvsim_set_hi(&c->semaphore, data & 0x1ffff);
		break;
	case CE_SET_SEMAPHORE_B:
		nvsim_set_lo(&c->semaphore, data);
		break;
	case CE_SET_SEMAPHORE_PAYLOAD:
		nvsim_set_lo(&c->payload, data);
		break;
	case CE_SET_SEMAPHORE_PAYLOAD_UPPER:
		nvsim_set_hi(&c->payload, data);
		break;
	case CE_LAUNCH_DMA:
		c->launch = data;
		c->line = 0;
		c->done = 0;
		ch->state = NVSIM_CH_COPY;
		break;
	case CE_OFFSET_IN_UPPER:
		nvsim_set_hi(&c->in, data & 0x1ffff);
		break;
	case CE_OFFSET_IN_LOWER:
		nvsim_set_lo(&c->in, data);
		break;
	case CE_OFFSET_OUT_UPPER:
		nvsim_set_hi(&c->out, data & 0x1ffff);
		break;
	case CE_OFFSET_OUT_LOWER:
		nvsim_set_lo(&c->out, data);
		break;
	case CE_PITCH_IN:
		c->pitch_in = data;
		break;
	case CE_PITCH_OUT:
		c->pitch_out = data;
		break;
	case CE_LINE_LENGTH_IN:
		c->line_length = data;
		break;
	case CE_LINE_COUNT:
		c->line_count = data;
		break;
	case CE_SET_REMAP_CONST_A:
	case CE_SET_REMAP_CONST_B:
		c->remap_const[(method - CE_SET_REMAP_CONST_A) / 4] = data;
		break;
	case CE_SET_REMAP_COMPONENTS:
		c->remap_components = data;
		break;
	default:
		break;
	}
}

/* Words of inline data, as many as the buffer holds of this run; lines follow each other in it. */
static void nvsim_inline_data(struct nvsim_channel *ch, const u32 *words, u32 nr)
{
	struct nvsim_inline_regs *i = &ch->i2m;
	const u8 *from = (const u8 *)words;
	size_t left = nr * sizeof(u32);

	while (left && i->line < i->line_count && i->done < i->line_length) {
		size_t n = min_t(size_t, left, i->line_length - i->done);
		u64 to = i->out + (u64)i->line * i->pitch_out + i->done;

		if (nvsim_vas_write(ch->vas, to, from, n)) {
			nvsim_channel_fault(ch, "inline write", to);
			return;
		}
		from += n;
		left -= n;
		i->done += n;
		if (i->done < i->line_length)
			continue;
		i->done = 0;
		i->line++;
		if (i->line == i->line_count &&
		    I2M_COMPLETION_TYPE(i->launch) == I2M_COMPLETION_SEMAPHORE)
			nvsim_release(ch, i->semaphore, i->payload, false,
				      !(i->launch & I2M_SEMAPHORE_ONE_WORD));
	}
}

static void nvsim_inline_method(struct nvsim_channel *ch, u32 method, u32 data)
{
	struct nvsim_inline_regs *i = &ch->i2m;

	switch (method) {
	case I2M_LINE_LENGTH_IN:
		i->line_length = data;
		break;
	case I2M_LINE_COUNT:
		i->line_count = data;
		break;
	case I2M_OFFSET_OUT_UPPER:
		nvsim_set_hi(&i->out, data & 0x1ffff);
		break;
	case I2M_OFFSET_OUT:
		nvsim_set_lo(&i->out, data);
		break;
	case I2M_PITCH_OUT:
		i->pitch_out = data;
		break;
	case I2M_LAUNCH_DMA:
		i->launch = data;
		i->line = i->line_length ? 0 : i->line_count;
		i->done = 0;
		break;
	case I2M_LOAD_INLINE_DATA:
		nvsim_inline_data(ch, &data, 1);
		break;
	case I2M_SET_SEMAPHORE_A:
		nvsim_set_hi(&i->semaphore, data & 0xff);
		break;
	case I2M_SET_SEMAPHORE_B:
		nvsim_set_lo(&i->semaphore, data);
		break;
	case I2M_SET_SEMAPHORE_C:
		i->payload = data;
		break;
	default:
		break;
	}
}

static void nvsim_inline_qmd(struct nvsim_channel *ch, u32 index, u32 data)
{
	struct nvsim_compute_regs *c = &ch->compute;

	c->qmd[index] = data;
	if (index < NVSIM_QMD_WORDS - 1)
		return;
	if (nvsim_vas_write(ch->vas, c->qmd_address, c->qmd, sizeof(c->qmd)))
		nvsim_channel_fault(ch, "inline QMD", c->qmd_address);
	else
		nvsim_launch(ch, c->qmd_address);
}

static void nvsim_compute_method(struct nvsim_channel *ch, u32 method, u32 data)
{
	struct nvsim_compute_regs *c = &ch->compute;

	switch (method) {
	case I2M_LINE_LENGTH_IN ... I2M_SET_SEMAPHORE_C:
		nvsim_inline_method(ch, method, data);
		break;
	case COMPUTE_SEND_PCAS_A:
		c->qmd_address = (u64)data << 8;
		break;
	case COMPUTE_SEND_SIGNALING_PCAS_B:
		if (data & PCAS_SCHEDULE)
			nvsim_launch(ch, c->qmd_address);
		break;
	case COMPUTE_SEND_SIGNALING_PCAS2_B:
		if (PCAS2_ACTION(data) > PCAS2_INVALIDATE)
			nvsim_launch(ch, c->qmd_address);
		break;
	case COMPUTE_SET_INLINE_QMD_A:
		c->qmd_address = ((u64)data << 40) | (c->qmd_address & GENMASK_ULL(39, 0));
		break;
	case COMPUTE_SET_INLINE_QMD_B:
		c->qmd_address = (c->qmd_address & ~GENMASK_ULL(39, 0)) | ((u64)data << 8);
		break;
	case COMPUTE_LOAD_INLINE_QMD ... COMPUTE_LOAD_INLINE_QMD + 4 * (NVSIM_QMD_WORDS - 1):
		nvsim_inline_qmd(ch, (method - COMPUTE_LOAD_INLINE_QMD) / 4, data);
		break;
	case COMPUTE_SET_REPORT_SEMAPHORE_A:
		nvsim_set_hi(&c->report, data & 0xff);
		break;
	case COMPUTE_SET_REPORT_SEMAPHORE_B:
		nvsim_set_lo(&c->report, data);
		break;
	case COMPUTE_SET_REPORT_SEMAPHORE_C:
		c->report_payload = data;
		break;
	case COMPUTE_SET_REPORT_SEMAPHORE_D:
		if (REPORT_OPERATION(data) == REPORT_RELEASE)
			nvsim_release(ch, c->report, c->report_payload, false,
				      !(data & REPORT_ONE_WORD));
		break;
	default:
		break;
	}
}

/* Subchannels that no SET_OBJECT named carry what CUDA keeps there. */
static u32 nvsim_class_of(struct nvsim_channel *ch)
{
	if (ch->class[ch->subchannel])
		return ch->class[ch->subchannel];
	return ch->subchannel == 4 ? AMPERE_DMA_COPY_B : AMPERE_COMPUTE_B;
}

static void nvsim_method(struct nvsim_channel *ch, u32 method, u32 data)
{
	enum { CLASS_KIND_COPY = 0xb5, CLASS_KIND_COMPUTE = 0xc0, CLASS_KIND_INLINE = 0x40 };

	if (method < HOST_METHODS_END) {
		nvsim_host_method(ch, method, data);
		return;
	}
	/* The low byte of an engine class tells its kind, the high one the chip's generation. */
	switch (nvsim_class_of(ch) & 0xff) {
	case CLASS_KIND_COPY:
		nvsim_copy_method(ch, method, data);
		break;
	case CLASS_KIND_COMPUTE:
		nvsim_compute_method(ch, method, data);
		break;
	case CLASS_KIND_INLINE:
		nvsim_inline_method(ch, method, data);
		break;
	default:
		break;
	}
}

/* The next segment of the GPFIFO, if the channel was told of one. */
static bool nvsim_next_segment(struct nvsim_channel *ch)
{
	u64 entry, va;
	u32 words;

	while (ch->get != ch->put) {
		va = ch->gpfifo + (u64)ch->get * sizeof(entry);
		if (nvsim_vas_read(ch->vas, va, &entry, sizeof(entry))) {
			nvsim_channel_fault(ch, "GPFIFO read", va);
			return false;
		}
		words = (entry >> 42) & 0x1fffff;
		if (words) {		/* else a control entry: NOP, CRC */
			ch->pb = entry & GENMASK_ULL(39, 2);
			ch->pb_left = words;
			return true;
		}
		ch->get = (ch->get + 1) % ch->entries;
		nvsim_mem_store(ch->userd, ch->userd_offset + USERD_GP_GET, ch->get);
	}
	return false;
}

/* A run of methods may go on in the next segment, so ch->count stays. */
static void nvsim_segment_done(struct nvsim_channel *ch)
{
	ch->buf_at = 0;
	ch->buf_len = 0;
	ch->get = (ch->get + 1) % ch->entries;
	nvsim_mem_store(ch->userd, ch->userd_offset + USERD_GP_GET, ch->get);
}

/* Words in the buffer: false when there is no work, or the channel died fetching it. */
static bool nvsim_fetch(struct nvsim_channel *ch)
{
	u32 n;

	if (ch->buf_at < ch->buf_len)
		return true;
	if (ch->buf_len && !ch->pb_left)
		nvsim_segment_done(ch);
	if (!ch->pb_left && !nvsim_next_segment(ch))
		return false;

	n = min_t(u32, ch->pb_left, NVSIM_PB_BUFFER);
	if (nvsim_vas_read(ch->vas, ch->pb, ch->buf, n * sizeof(u32))) {
		nvsim_channel_fault(ch, "push buffer read", ch->pb);
		return false;
	}
	ch->pb += n * sizeof(u32);
	ch->pb_left -= n;
	ch->buf_at = 0;
	ch->buf_len = n;
	return true;
}

static void nvsim_header(struct nvsim_channel *ch, u32 word)
{
	ch->subchannel = (word >> 13) & 7;
	ch->method = (word & 0xfff) << 2;
	ch->count = (word >> 16) & 0x1fff;

	switch (word >> 29) {
	case HDR_INC:
		ch->step = 4;
		break;
	case HDR_NON_INC:
		ch->step = 0;
		break;
	case HDR_ONE_INC:
		ch->step = 4 | BIT(31);
		break;
	case HDR_IMMEDIATE:
		word = ch->count;
		ch->count = 0;
		nvsim_method(ch, ch->method, word);
		break;
	case HDR_TERT_0:
	case HDR_TERT_2:
		/* The formats of before Fermi; other tertiary operations set subdevice masks. */
		ch->step = word >> 29 == HDR_TERT_0 ? 4 : 0;
		ch->method = word & 0x1ffc;
		ch->count = (word >> 16) & 3 ? 0 : (word >> 18) & 0x7ff;
		break;
	case HDR_END_SEGMENT:
		ch->count = 0;
		ch->pb_left = 0;
		ch->buf_at = ch->buf_len;
		break;
	default:
		nvsim_channel_fault(ch, "method header", word);
		break;
	}
}

static u32 nvsim_run(struct nvsim_channel *ch)
{
	u32 method = ch->method, n = 1;

	if (method == I2M_LOAD_INLINE_DATA && !ch->step &&
	    (nvsim_class_of(ch) & 0xff) != (AMPERE_DMA_COPY_B & 0xff)) {
		n = min(ch->count, ch->buf_len - ch->buf_at);
		ch->buf_at += n;
		ch->count -= n;
		nvsim_inline_data(ch, ch->buf + ch->buf_at - n, n);
		return n;
	}
	ch->count--;
	ch->method += ch->step & ~BIT(31);
	if (ch->step & BIT(31))
		ch->step = 0;
	nvsim_method(ch, method, ch->buf[ch->buf_at++]);
	return n;
}

static void nvsim_look_at_put(struct nvsim_channel *ch)
{
	u32 put;

	ch->rung = false;
	if (nvsim_mem_load(ch->userd, ch->userd_offset + USERD_GP_PUT, &put))
		return;
	if (put < ch->entries)
		ch->put = put;
	else
		nvsim_channel_fault(ch, "GPPut", put);
}

enum nvsim_step nvsim_channel_step(struct nvsim_channel *ch)
{
	u32 words = 0;

	if (ch->disabled || !(ch->enabled || ch->group->enabled))
		return NVSIM_STEP_IDLE;
	if (ch->rung && ch->state != NVSIM_CH_FAULTED)
		nvsim_look_at_put(ch);

	while (words < NVSIM_STEP_WORDS) {
		switch (ch->state) {
		case NVSIM_CH_FAULTED:
		case NVSIM_CH_LAUNCH:
			return NVSIM_STEP_IDLE;
		case NVSIM_CH_ACQUIRE:
			if (!nvsim_try_acquire(ch))
				return ch->state == NVSIM_CH_ACQUIRE ? NVSIM_STEP_STALLED :
								       NVSIM_STEP_IDLE;
			ch->state = NVSIM_CH_RUN;
			break;
		case NVSIM_CH_COPY:
			if (!nvsim_copy_step(ch))
				return ch->state == NVSIM_CH_COPY ? NVSIM_STEP_MORE :
								    NVSIM_STEP_IDLE;
			ch->state = NVSIM_CH_RUN;
			break;
		case NVSIM_CH_RUN:
			if (!nvsim_fetch(ch))
				return NVSIM_STEP_IDLE;
			if (ch->count) {
				words += nvsim_run(ch);
			} else {
				nvsim_header(ch, ch->buf[ch->buf_at++]);
				words++;
			}
			break;
		}
	}
	return NVSIM_STEP_MORE;
}
