/* SPDX-License-Identifier: GPL-2.0-only */
/* export.c: memory that travels inside an open nvidiactl file (ctrl0000unix.h). */
#ifndef NVSIM_EXPORT_H
#define NVSIM_EXPORT_H

#include "nvsim.h"

u32 nvsim_export_to_fd(struct nvsim_control_call *call);	/* 0x3d05 */
u32 nvsim_import_from_fd(struct nvsim_control_call *call);	/* 0x3d06 */
u32 nvsim_export_info(struct nvsim_control_call *call);		/* 0x3d08 */

#endif
