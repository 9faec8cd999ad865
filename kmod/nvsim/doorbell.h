/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NVSIM_DOORBELL_H
#define NVSIM_DOORBELL_H

#include <linux/mm_types.h>

#include "nvsim.h"

#define NVSIM_USERMODE_SIZE	0x10000		/* DRF_SIZE(NVC361), clc361.h */

struct nvsim_doorbell;

/* For a mapping through the file that mapping belongs to; NULL when there is no memory. */
struct nvsim_doorbell *nvsim_doorbell_create(struct nvsim_engine *engine, u32 client,
					     struct address_space *mapping);
/* Nothing is mapped any more. */
void nvsim_doorbell_destroy(struct nvsim_doorbell *db);
vm_fault_t nvsim_doorbell_fault(struct nvsim_doorbell *db, struct vm_fault *vmf);

#endif
