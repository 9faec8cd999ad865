/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VGPU_CALIBRATE_H
#define VGPU_CALIBRATE_H

#include <stdint.h>

struct vgpu_pci {
	uint32_t domain;
	uint32_t bus;
	uint32_t slot;
};

/* step and status say what failed; status is the driver's, or 0 when a system call failed. */
struct vgpu_calibration {
	uint64_t channel_bytes;
	uint64_t context_bytes;
	uint32_t status;
	char step[64];
};

/* 0, or -errno; -EREMOTEIO when the driver refused. */
int vgpu_calibrate(const struct vgpu_pci *pci, struct vgpu_calibration *out);

#endif
