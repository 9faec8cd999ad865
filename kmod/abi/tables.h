/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How the tables are written; for r*.c and rm.c only.
 *
 * A new branch: a file of versions (r535.c shows it) whose struct vgpu_rm_abi names the tables
 * that hold for it. A table is written anew only where the branch differs from the one before.
 * Numbers and offsets come from NVIDIA's published headers of that very version; versions without
 * published source take their neighbour's and say so.
 */
#ifndef VGPU_TABLES_H
#define VGPU_TABLES_H

#include "rm.h"

#define FIELD(slot, offset, width)		{ VGPU_F_##slot, width, offset, 1 }
#define FIELDS(slot, offset, width, count)	{ VGPU_F_##slot, width, offset, count }

#define COUNT_OF(array)	(sizeof(array) / sizeof((array)[0]))

/* With fields, without fields (0), and at least of that size (_ANY). */
#define ROW(nr, size, what, where, fields, name) \
	{ nr, size, 0, VGPU_##what, VGPU_ON_##where, 0, COUNT_OF(fields), fields, #name }
#define ROW0(nr, size, what, where, name) \
	{ nr, size, 0, VGPU_##what, VGPU_ON_##where, 0, 0, NULL, #name }
#define ROW_ANY(nr, size, what, where, fields, name) \
	{ nr, size, VGPU_ANY_SIZE, VGPU_##what, VGPU_ON_##where, 0, \
	  COUNT_OF(fields), fields, #name }
#define ROW_ANY0(nr, size, what, where, name) \
	{ nr, size, VGPU_ANY_SIZE, VGPU_##what, VGPU_ON_##where, 0, 0, NULL, #name }
/* The same, refused with a status. */
#define REFUSED(nr, size, what, where, status, fields, name) \
	{ nr, size, 0, VGPU_##what, VGPU_ON_##where, VGPU_NV_ERR_##status, \
	  COUNT_OF(fields), fields, #name }
#define REFUSED0(nr, size, what, where, status, name) \
	{ nr, size, 0, VGPU_##what, VGPU_ON_##where, VGPU_NV_ERR_##status, 0, NULL, #name }
/* Refused classes and controls: as to whoever is not root, or as if they were not there. */
#define PRIVILEGED(nr, size, name) \
	REFUSED0(nr, size, CLASS_REFUSED, ANY, INSUFFICIENT_PERMISSIONS, name)
#define UNSUPPORTED(nr, size, name)	REFUSED0(nr, size, CLASS_REFUSED, ANY, NOT_SUPPORTED, name)
#define CONTROL_OFF(nr, name)		REFUSED0(nr, 0, CONTROL_REFUSED, ANY, NOT_SUPPORTED, name)

/* Rows are in the order of their numbers, and are searched so. */
#define TABLE(rows)	{ rows, COUNT_OF(rows) }

/**
 * struct vgpu_rm_version - a driver version
 * @name: as the driver spells it
 * @abi: its tables
 */
struct vgpu_rm_version {
	const char *name;
	const struct vgpu_rm_abi *abi;
};

struct vgpu_rm_branch {
	const struct vgpu_rm_version *versions;
	u32 nr;
};

extern const struct vgpu_rm_table vgpu_r535_escapes;
extern const struct vgpu_rm_table vgpu_r535_classes;
extern const struct vgpu_rm_table vgpu_r535_controls;
extern const struct vgpu_rm_table vgpu_r535_functions;
extern const struct vgpu_rm_table vgpu_r535_memories;
extern const struct vgpu_rm_table vgpu_r535_uvm;
extern const struct vgpu_rm_table vgpu_r535_items;

extern const struct vgpu_rm_branch vgpu_r535;

#endif /* VGPU_TABLES_H */
