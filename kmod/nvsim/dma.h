/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NVSIM_DMA_H
#define NVSIM_DMA_H

#include "vas.h"

/* The space that a VASPACE handle names, 0 being that of the device above; one reference. */
struct nvsim_vas *nvsim_vas_of_handle(struct nvsim_object *below, u32 handle, u32 *status);

#endif
