// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ledger.h"

void vgpu_ledger_init(struct vgpu_ledger *ledger, u64 max)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->max = max;
}

u64 vgpu_ledger_room(const struct vgpu_ledger *ledger)
{
	return ledger->cur < ledger->max ? ledger->max - ledger->cur : 0;
}

static void book(struct vgpu_ledger *ledger, u32 kind, u64 bytes)
{
	ledger->cur += bytes;
	ledger->kind[kind] += bytes;
	if (ledger->cur > ledger->peak)
		ledger->peak = ledger->cur;
}

int vgpu_ledger_try_charge(struct vgpu_ledger *ledger, u32 kind, u64 bytes)
{
	if (kind >= VGPU_CHARGE_KINDS)
		return -EINVAL;
	if (bytes > vgpu_ledger_room(ledger)) {
		ledger->refusals++;
		return -ENOMEM;
	}
	book(ledger, kind, bytes);
	return 0;
}

int vgpu_ledger_uncharge(struct vgpu_ledger *ledger, u32 kind, u64 bytes)
{
	if (kind >= VGPU_CHARGE_KINDS || bytes > ledger->kind[kind])
		return -ERANGE;
	ledger->kind[kind] -= bytes;
	ledger->cur -= bytes;
	return 0;
}

int vgpu_ledger_settle(struct vgpu_ledger *ledger, u32 kind, u64 charged, u64 real)
{
	if (kind >= VGPU_CHARGE_KINDS || charged > ledger->kind[kind])
		return -ERANGE;
	if (real <= charged)
		return vgpu_ledger_uncharge(ledger, kind, charged - real);
	if (real - charged > ~(u64)0 - ledger->cur)
		return -ERANGE;
	book(ledger, kind, real - charged);
	return 0;
}

int vgpu_ledger_set_max(struct vgpu_ledger *ledger, u64 max, bool force)
{
	if (max < ledger->cur && !force)
		return -EBUSY;
	ledger->max = max;
	return 0;
}
