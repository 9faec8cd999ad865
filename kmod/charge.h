/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ledger and book of a tenant, with tracing and memory. Everything _locked is under the tenant's
 * lock.
 */
#ifndef VGPU_CHARGE_H
#define VGPU_CHARGE_H

#include <linux/types.h>

#include "core/book.h"
#include "core/range.h"

struct vgpu_tenant;

int vgpu_try_charge_locked(struct vgpu_tenant *tenant, u32 slice, u32 kind, u64 bytes);
void vgpu_uncharge_locked(struct vgpu_tenant *tenant, u32 slice, u32 kind, u64 bytes);

/* A charge of its own, with one reference: 0, -ENOMEM (refused or no memory) with *@charge NULL. */
int vgpu_charge_new(struct vgpu_tenant *tenant, u32 slice, u32 kind, u64 bytes,
		    struct vgpu_charge **charge);
/* Another reference of the charge of an object, NULL when it has none. */
struct vgpu_charge *vgpu_charge_of(struct vgpu_tenant *tenant, u32 client, u32 object);
/* Puts a reference; NULL is none. */
void vgpu_charge_drop(struct vgpu_tenant *tenant, struct vgpu_charge *charge);

/* Free what the book and the ranges have let go. */
void vgpu_objects_free(struct vgpu_tenant *tenant, struct vgpu_object *gone);
void vgpu_ranges_free(struct vgpu_tenant *tenant, struct vgpu_range *gone);
/* The same for ranges that never got there: their charges are put first. */
void vgpu_ranges_drop(struct vgpu_tenant *tenant, struct vgpu_range *list);

/* Doubles the book's hash when it is full. */
void vgpu_book_grow(struct vgpu_tenant *tenant);

#endif /* VGPU_CHARGE_H */
