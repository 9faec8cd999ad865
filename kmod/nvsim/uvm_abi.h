/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of UVM's calls: uvm_ioctl.h, uvm_linux_ioctl.h of 535.288.01; NVIDIA's names. */
#ifndef NVSIM_UVM_ABI_H
#define NVSIM_UVM_ABI_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define UVM_INITIALIZE			0x30000001
#define UVM_DEINITIALIZE		0x30000002
#define UVM_MM_INITIALIZE		75

#define UVM_INIT_FLAGS_SHARED		0x2	/* MULTI_PROCESS_SHARING_MODE */
#define UVM_INIT_FLAGS_ALL		0x3	/* and DISABLE_HMM, which there is none of here */

#define UVM_MAX_GPU_ATTRIBUTES		32

struct uvm_initialize {
	u64 flags;
	u32 rmStatus;
	u32 pad;
};

struct uvm_mm_initialize {
	s32 uvmFd;
	u32 rmStatus;
};

struct uvm_register_gpu {
	u8 uuid[16];
	u8 numaEnabled;
	u8 pad[3];
	s32 numaNodeId;
	s32 rmCtrlFd;
	u32 hClient;
	u32 hSmcPartRef;
	u32 rmStatus;
};
static_assert(sizeof(struct uvm_register_gpu) == 40);

struct uvm_gpu {				/* UNREGISTER_GPU, UNREGISTER_GPU_VASPACE */
	u8 uuid[16];
	u32 rmStatus;
};

struct uvm_register_gpu_vaspace {
	u8 uuid[16];
	s32 rmCtrlFd;
	u32 hClient;
	u32 hVaSpace;
	u32 rmStatus;
};
static_assert(sizeof(struct uvm_register_gpu_vaspace) == 32);

struct uvm_register_channel {
	u8 uuid[16];
	s32 rmCtrlFd;
	u32 hClient;
	u32 hChannel;
	u32 pad0;
	u64 base;
	u64 length;
	u32 rmStatus;
	u32 pad1;
};
static_assert(sizeof(struct uvm_register_channel) == 56);

struct uvm_unregister_channel {
	u8 uuid[16];
	u32 hClient;
	u32 hChannel;
	u32 rmStatus;
};

struct uvm_range_group {			/* CREATE, DESTROY */
	u64 rangeGroupId;
	u32 rmStatus;
	u32 pad;
};

struct uvm_set_range_group {
	u64 rangeGroupId;
	u64 base;
	u64 length;
	u32 rmStatus;
	u32 pad;
};

struct uvm_range {				/* of addresses and nothing else */
	u64 base;
	u64 length;
	u32 rmStatus;
	u32 pad;
};
static_assert(sizeof(struct uvm_range) == 24);

struct uvm_range_on {				/* of addresses, for one processor */
	u64 base;
	u64 length;
	u8 uuid[16];
	u32 rmStatus;
	u32 pad;
};
static_assert(sizeof(struct uvm_range_on) == 40);

struct uvm_gpu_attributes {
	u8 uuid[16];
	u32 mappingType;
	u32 cachingType;
	u32 formatType;
	u32 elementBits;
	u32 compressionType;
};
static_assert(sizeof(struct uvm_gpu_attributes) == 36);

struct uvm_map_external {
	u64 base;
	u64 length;
	u64 offset;
	struct uvm_gpu_attributes perGpuAttributes[UVM_MAX_GPU_ATTRIBUTES];
	u64 gpuAttributesCount;
	s32 rmCtrlFd;
	u32 hClient;
	u32 hMemory;
	u32 rmStatus;
};
static_assert(sizeof(struct uvm_map_external) == 1200);

struct uvm_alloc_semaphore_pool {
	u64 base;
	u64 length;
	struct uvm_gpu_attributes perGpuAttributes[UVM_MAX_GPU_ATTRIBUTES];
	u64 gpuAttributesCount;
	u32 rmStatus;
	u32 pad;
};
static_assert(sizeof(struct uvm_alloc_semaphore_pool) == 1184);

struct uvm_pageable {
	u8 pageableMemAccess;
	u8 pad[3];
	u32 rmStatus;
};

struct uvm_pageable_on_gpu {
	u8 uuid[16];
	u8 pageableMemAccess;
	u8 pad[3];
	u32 rmStatus;
};

struct uvm_migrate {
	u64 base;
	u64 length;
	u8 uuid[16];
	u32 flags;
	u32 pad0;
	u64 semaphoreAddress;
	u32 semaphorePayload;
	u32 cpuNumaNode;
	u64 userSpaceStart;
	u64 userSpaceLength;
	u32 rmStatus;
	u32 pad1;
};
static_assert(sizeof(struct uvm_migrate) == 80);

struct uvm_migrate_range_group {
	u64 rangeGroupId;
	u8 uuid[16];
	u32 rmStatus;
	u32 pad;
};

struct uvm_peer_access {
	u8 uuidA[16];
	u8 uuidB[16];
	u32 rmStatus;
};

#endif
