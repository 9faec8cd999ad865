/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The memory account of one slice.
 *
 * A charge is taken before the request is forwarded (try_charge), corrected to the size that the
 * driver gave (settle) and given back (uncharge). Bytes are compared by subtraction, so no sum can
 * overflow.
 *
 * Invariant: cur is the sum of kind[], and cur <= max unless set_max was forced or a settle found
 * that the driver gave more than was asked; then every further charge is refused until cur is
 * below max.
 */
#ifndef VGPU_LEDGER_H
#define VGPU_LEDGER_H

#include "port.h"

enum vgpu_charge_kind {
	VGPU_CHARGE_BUFFERS,	/* what a program asked for by size */
	VGPU_CHARGE_CONTEXTS,	/* what contexts and channels take without naming a size */
	VGPU_CHARGE_MANAGED,	/* managed ranges, by length */
	VGPU_CHARGE_KINDS,
};

/**
 * struct vgpu_ledger - the account
 * @max: the limit, bytes
 * @cur: charged now, bytes; "current" in prose, but the kernel has a macro of that name
 * @peak: the highest @cur that was
 * @refusals: charges refused
 * @kind: @cur by enum vgpu_charge_kind
 */
struct vgpu_ledger {
	u64 max;
	u64 cur;
	u64 peak;
	u64 refusals;
	u64 kind[VGPU_CHARGE_KINDS];
};

void vgpu_ledger_init(struct vgpu_ledger *ledger, u64 max);

/* What a charge may still take: max - cur, or 0 when the account is at or over its limit. */
u64 vgpu_ledger_room(const struct vgpu_ledger *ledger);

/* 0, -ENOMEM: over the limit (counted as a refusal), -EINVAL: no such kind. */
int vgpu_ledger_try_charge(struct vgpu_ledger *ledger, u32 kind, u64 bytes);

/* 0, or -ERANGE when that kind holds less than @bytes: a bug of the caller, nothing is changed. */
int vgpu_ledger_uncharge(struct vgpu_ledger *ledger, u32 kind, u64 bytes);

/*
 * The driver gave @real bytes where @charged are on the account. The difference is booked either
 * way, also above max, because the memory is taken. 0; -ERANGE: that kind holds less than
 * @charged, or the sum would not fit 64 bits; nothing is changed then.
 */
int vgpu_ledger_settle(struct vgpu_ledger *ledger, u32 kind, u64 charged, u64 real);

/* Larger at once; smaller than cur is -EBUSY unless @force. */
int vgpu_ledger_set_max(struct vgpu_ledger *ledger, u64 max, bool force);

#endif /* VGPU_LEDGER_H */
