// SPDX-License-Identifier: GPL-2.0-only
/*
 * Semaphores: words in memory that channels release and wait for. Operations as the host class has
 * them (class/clc56f.h of 535.288.01); engines' releases are the same but for their encoding.
 */
#include <linux/bits.h>

#include "engine.h"

#define SEM_OPERATION(x)	((x) & 7)
enum {
	SEM_ACQUIRE, SEM_RELEASE, SEM_ACQ_STRICT_GEQ, SEM_ACQ_CIRC_GEQ, SEM_ACQ_AND, SEM_ACQ_NOR,
	SEM_REDUCTION,
};
#define SEM_WIDE		BIT(24)
#define SEM_TIMESTAMP		BIT(25)
#define SEM_REDUCTION_OP(x)	(((x) >> 27) & 0xf)
#define SEM_UNSIGNED		BIT(31)

#define OLD_SEM_OPERATION(x)	((x) & 0x1f)
#define OLD_SEM_ACQUIRE		0x01
#define OLD_SEM_RELEASE		0x02
#define OLD_SEM_ACQ_GEQ		0x04
#define OLD_SEM_ACQ_AND		0x08
#define OLD_SEM_REDUCTION	0x10
#define OLD_SEM_ONE_WORD	BIT(24)

int nvsim_release(struct nvsim_channel *ch, u64 address, u64 payload, bool wide, bool timestamp)
{
	unsigned int bytes = wide ? 8 : 4;
	int err = 0;

	/* The payload last: who sees it finds the time there. */
	if (timestamp)
		err = nvsim_vas_store(ch->vas, address + 8, 8, nvsim_gpu_time_ns());
	if (!err)
		err = nvsim_vas_store(ch->vas, address, bytes, payload);
	if (err)
		nvsim_channel_fault(ch, "semaphore release", address);
	return err;
}

static u64 nvsim_combine(u64 old, u64 payload, bool wide, unsigned int op, bool is_unsigned)
{
	bool less = wide ? (is_unsigned ? old < payload : (s64)old < (s64)payload) :
			   (is_unsigned ? (u32)old < (u32)payload : (s32)old < (s32)payload);

	switch (op) {
	case 0:
		return less ? old : payload;
	case 1:
		return less ? payload : old;
	case 2:
		return old ^ payload;
	case 3:
		return old & payload;
	case 4:
		return old | payload;
	case 5:
		return old + payload;
	case 6:		/* counts up to payload, then from 0 again */
		return old >= payload ? 0 : old + 1;
	case 7:
		return !old || old > payload ? payload : old - 1;
	default:
		return old;
	}
}

int nvsim_reduce(struct nvsim_channel *ch, u64 address, u64 payload, bool wide, unsigned int op,
		 bool is_unsigned)
{
	unsigned int bytes = wide ? 8 : 4;
	u64 old;

	if (nvsim_vas_load(ch->vas, address, bytes, &old)) {
		nvsim_channel_fault(ch, "semaphore reduction", address);
		return -EFAULT;
	}
	return nvsim_release(ch, address, nvsim_combine(old, payload, wide, op, is_unsigned), wide,
			     false);
}

bool nvsim_try_acquire(struct nvsim_channel *ch)
{
	const struct nvsim_host_regs *h = &ch->host;
	bool wide = h->execute & SEM_WIDE;
	u64 have, want = wide ? h->payload : (u32)h->payload;

	if (nvsim_vas_load(ch->vas, h->address, wide ? 8 : 4, &have)) {
		nvsim_channel_fault(ch, "semaphore acquire", h->address);
		return false;
	}
	switch (SEM_OPERATION(h->execute)) {
	case SEM_ACQUIRE:
		return have == want;
	case SEM_ACQ_STRICT_GEQ:
		return have >= want;
	case SEM_ACQ_CIRC_GEQ:
		return wide ? (s64)(have - want) >= 0 : (s32)(have - want) >= 0;
	case SEM_ACQ_AND:
		return have & want;
	case SEM_ACQ_NOR:
		return (wide ? ~(have | want) : (u32)~(have | want)) != 0;
	default:
		return true;
	}
}

void nvsim_sem_execute(struct nvsim_channel *ch, u32 data)
{
	struct nvsim_host_regs *h = &ch->host;

	h->execute = data;
	switch (SEM_OPERATION(data)) {
	case SEM_RELEASE:
		nvsim_release(ch, h->address, h->payload, data & SEM_WIDE, data & SEM_TIMESTAMP);
		break;
	case SEM_REDUCTION:
		nvsim_reduce(ch, h->address, h->payload, data & SEM_WIDE, SEM_REDUCTION_OP(data),
			     data & SEM_UNSIGNED);
		break;
	default:
		ch->state = NVSIM_CH_ACQUIRE;
		break;
	}
}

/* The older method says the same in other bits. */
void nvsim_old_semaphore(struct nvsim_channel *ch, u32 data)
{
	struct nvsim_host_regs *h = &ch->host;
	u32 execute;

	switch (OLD_SEM_OPERATION(data)) {
	case OLD_SEM_ACQUIRE:
		execute = SEM_ACQUIRE;
		break;
	case OLD_SEM_RELEASE:
		execute = SEM_RELEASE | (data & OLD_SEM_ONE_WORD ? 0 : SEM_TIMESTAMP);
		break;
	case OLD_SEM_ACQ_GEQ:
		execute = SEM_ACQ_CIRC_GEQ;
		break;
	case OLD_SEM_ACQ_AND:
		execute = SEM_ACQ_AND;
		break;
	case OLD_SEM_REDUCTION:
		execute = SEM_REDUCTION | (data & GENMASK(31, 27));
		break;
	default:
		nvsim_channel_fault(ch, "semaphore operation", data);
		return;
	}
	h->address = h->old_address;
	h->payload = h->old_payload;
	nvsim_sem_execute(ch, execute);
}
