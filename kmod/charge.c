// SPDX-License-Identifier: GPL-2.0-only
/* Ledger and book of a tenant; see charge.h. */

#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "charge.h"
#include "tenant.h"
#include "trace.h"

#define VGPU_BOOK_MAX_BUCKETS	(1u << 20)

static u32 vgpu_slice_index(const struct vgpu_tenant *tenant, const struct vgpu_ledger *ledger)
{
	return container_of(ledger, struct vgpu_slice, ledger) - tenant->slices;
}

int vgpu_try_charge_locked(struct vgpu_tenant *tenant, u32 slice, u32 kind, u64 bytes)
{
	struct vgpu_ledger *ledger = &tenant->slices[slice].ledger;
	int ret;

	lockdep_assert_held(&tenant->lock);
	ret = vgpu_ledger_try_charge(ledger, kind, bytes);
	if (ret)
		trace_vgpu_refuse(tenant->id, slice, kind, bytes, ledger->cur);
	else
		trace_vgpu_charge(tenant->id, slice, kind, bytes, ledger->cur);
	return ret;
}

void vgpu_uncharge_locked(struct vgpu_tenant *tenant, u32 slice, u32 kind, u64 bytes)
{
	struct vgpu_ledger *ledger = &tenant->slices[slice].ledger;

	lockdep_assert_held(&tenant->lock);
	WARN_ON_ONCE(vgpu_ledger_uncharge(ledger, kind, bytes));
	trace_vgpu_uncharge(tenant->id, slice, kind, bytes, ledger->cur);
}

int vgpu_charge_new(struct vgpu_tenant *tenant, u32 slice, u32 kind, u64 bytes,
		    struct vgpu_charge **charge)
{
	struct vgpu_ledger *ledger = &tenant->slices[slice].ledger;
	int ret;

	*charge = kmalloc(sizeof(**charge), GFP_KERNEL_ACCOUNT);
	if (!*charge)
		return -ENOMEM;
	spin_lock(&tenant->lock);
	ret = vgpu_charge_open(*charge, ledger, kind, bytes);
	if (ret)
		trace_vgpu_refuse(tenant->id, slice, kind, bytes, ledger->cur);
	else
		trace_vgpu_charge(tenant->id, slice, kind, bytes, ledger->cur);
	spin_unlock(&tenant->lock);
	if (ret) {
		kfree(*charge);
		*charge = NULL;
	}
	return ret;
}

struct vgpu_charge *vgpu_charge_of(struct vgpu_tenant *tenant, u32 client, u32 object)
{
	struct vgpu_charge *charge = NULL;
	struct vgpu_object *obj;

	spin_lock(&tenant->lock);
	obj = vgpu_book_find(&tenant->book, client, object);
	if (obj && obj->charge) {
		charge = obj->charge;
		vgpu_charge_get(charge);
	}
	spin_unlock(&tenant->lock);
	return charge;
}

/* The last reference has put the bytes back already. */
static void vgpu_charge_free(struct vgpu_tenant *tenant, struct vgpu_charge *charge)
{
	if (!charge)
		return;
	trace_vgpu_uncharge(tenant->id, vgpu_slice_index(tenant, charge->ledger), charge->kind,
			    charge->bytes, charge->ledger->cur);
	kfree(charge);
}

void vgpu_charge_drop(struct vgpu_tenant *tenant, struct vgpu_charge *charge)
{
	bool last;

	if (!charge)
		return;
	spin_lock(&tenant->lock);
	last = vgpu_charge_put(charge);
	spin_unlock(&tenant->lock);
	if (last)
		vgpu_charge_free(tenant, charge);
}

void vgpu_objects_free(struct vgpu_tenant *tenant, struct vgpu_object *gone)
{
	struct vgpu_object *obj;
	u32 i;

	while ((obj = gone)) {
		gone = obj->gone;
		vgpu_charge_free(tenant, obj->charge);
		for (i = 0; i < obj->nr_deps; i++)
			vgpu_charge_free(tenant, obj->deps[i].held);
		if (obj->is_client) {
			struct vgpu_client *client = vgpu_client_of(obj);

			put_pid(client->process);
			kfree(client);
		} else {
			kfree(obj);
		}
		/* A client may hold very many. */
		cond_resched();
	}
}

void vgpu_ranges_free(struct vgpu_tenant *tenant, struct vgpu_range *gone)
{
	struct vgpu_range *range;

	while ((range = gone)) {
		gone = range->gone;
		vgpu_charge_free(tenant, range->charge);
		kfree(range);
		cond_resched();
	}
}

void vgpu_ranges_drop(struct vgpu_tenant *tenant, struct vgpu_range *list)
{
	struct vgpu_range *range;

	while ((range = list)) {
		list = range->gone;
		vgpu_charge_drop(tenant, range->charge);
		kfree(range);
	}
}

void vgpu_book_grow(struct vgpu_tenant *tenant)
{
	struct vgpu_object **buckets, **old = NULL;
	u32 nr = READ_ONCE(tenant->book.nr_buckets);

	if (READ_ONCE(tenant->book.objects) < nr || nr >= VGPU_BOOK_MAX_BUCKETS)
		return;
	nr *= 2;
	/* Without memory for it the old one does, at more cost. */
	buckets = kvcalloc(nr, sizeof(*buckets), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!buckets)
		return;
	spin_lock(&tenant->lock);
	if (tenant->book.nr_buckets < nr)
		old = vgpu_book_rehash(&tenant->book, buckets, nr);
	spin_unlock(&tenant->lock);
	kvfree(old ? old : buckets);
}
