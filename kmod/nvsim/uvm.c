// SPDX-License-Identifier: GPL-2.0-only
/* /dev/nvidia-uvm. */
#include "nvsim.h"

int nvsim_uvm_init(struct class *class)
{
	return 0;
}

void nvsim_uvm_exit(void)
{
}
