/* SPDX-License-Identifier: GPL-2.0-only */
/* nodes.c: the escapes that 535 answers in nv.c, and REGISTER_FD. Conventions as in escape.h. */
#ifndef NVSIM_NODES_H
#define NVSIM_NODES_H

#include "nvsim.h"

int nvsim_esc_card_info(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_register_fd(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_status_code(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_check_version(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_attach_gpus(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_sys_params(struct nvsim_file *file, void *arg, u32 size);
int nvsim_esc_numa_info(struct nvsim_file *file, void *arg, u32 size);

#endif
