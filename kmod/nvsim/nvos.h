/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Layouts of the 535 driver interface: nvos.h, nv-ioctl.h, nv_vaspace and class headers of
 * 535.288.01. Field names follow NVIDIA's so that they can be looked up; sizes are asserted.
 */
#ifndef NVSIM_NVOS_H
#define NVSIM_NVOS_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* nv-chardev-numbers.h */
#define NVSIM_MAJOR		195
#define NVSIM_MINOR_CTL		255
#define NVSIM_MINOR_GPU_MAX	247

/* nv_escape.h, nv-ioctl-numbers.h: _IOC_NR of the calls */
#define NV_ESC_RM_ALLOC_MEMORY			0x27
#define NV_ESC_RM_FREE				0x29
#define NV_ESC_RM_CONTROL			0x2a
#define NV_ESC_RM_ALLOC				0x2b
#define NV_ESC_RM_DUP_OBJECT			0x34
#define NV_ESC_RM_SHARE				0x35
#define NV_ESC_RM_VID_HEAP_CONTROL		0x4a
#define NV_ESC_RM_MAP_MEMORY			0x4e
#define NV_ESC_RM_UNMAP_MEMORY			0x4f
#define NV_ESC_RM_MAP_MEMORY_DMA		0x57
#define NV_ESC_RM_UNMAP_MEMORY_DMA		0x58
#define NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO	0x5e
#define NV_ESC_CARD_INFO			200
#define NV_ESC_REGISTER_FD			201
#define NV_ESC_ALLOC_OS_EVENT			206
#define NV_ESC_FREE_OS_EVENT			207
#define NV_ESC_STATUS_CODE			209
#define NV_ESC_CHECK_VERSION_STR		210
#define NV_ESC_IOCTL_XFER_CMD			211
#define NV_ESC_ATTACH_GPUS_TO_FD		212
#define NV_ESC_SYS_PARAMS			214
#define NV_ESC_NUMA_INFO			215

/* Classes, sdk/nvidia/inc/class */
#define NV01_ROOT			0x0000
#define NV01_ROOT_NON_PRIV		0x0001
#define NV01_MEMORY_SYSTEM		0x003e
#define NV01_MEMORY_LOCAL_USER		0x0040
#define NV01_ROOT_CLIENT		0x0041
#define NV01_MEMORY_VIRTUAL		0x0070
#define NV01_MEMORY_SYSTEM_OS_DESCRIPTOR 0x0071
#define NV04_DISPLAY_COMMON		0x0073
#define NV01_EVENT_OS_EVENT		0x0079
#define NV01_DEVICE_0			0x0080
#define NV20_SUBDEVICE_0		0x2080
#define NV20_SUBDEVICE_DIAG		0x208f
#define NV50_MEMORY_VIRTUAL		0x50a0
#define GT200_DEBUGGER			0x83de
#define FERMI_CONTEXT_SHARE_A		0x9067
#define GF100_SUBDEVICE_INFOROM		0x90e7
#define FERMI_VASPACE_A			0x90f1
#define KEPLER_CHANNEL_GROUP_A		0xa06c
#define TURING_USERMODE_A		0xc461
#define AMPERE_CHANNEL_GPFIFO_A		0xc56f
#define AMPERE_DMA_COPY_B		0xc7b5
#define AMPERE_B			0xc797
#define AMPERE_COMPUTE_B		0xc7c0
#define NV_CONFIDENTIAL_COMPUTE		0xcb33

struct nv_ioctl_xfer {
	u32 cmd;
	u32 size;
	u64 ptr;
};
static_assert(sizeof(struct nv_ioctl_xfer) == 16);

struct nv_pci_info {
	u32 domain;
	u8 bus;
	u8 slot;
	u8 function;
	u8 pad;
	u16 vendor_id;
	u16 device_id;
};

struct nv_ioctl_card_info {
	u8 valid;
	u8 pad0[3];
	struct nv_pci_info pci_info;
	u32 gpu_id;
	u16 interrupt_line;
	u16 pad1;
	u64 reg_address;
	u64 reg_size;
	u64 fb_address;
	u64 fb_size;
	u32 minor_number;
	u8 dev_name[10];
	u8 pad2[2];
};
static_assert(sizeof(struct nv_ioctl_card_info) == 72);

struct nv_ioctl_os_event {
	u32 hClient;
	u32 hDevice;
	u32 fd;
	u32 Status;
};
static_assert(sizeof(struct nv_ioctl_os_event) == 16);

struct nv_ioctl_rm_api_version {
	u32 cmd;
	u32 reply;
	char versionString[64];
};
static_assert(sizeof(struct nv_ioctl_rm_api_version) == 72);

struct nv_ioctl_numa_info {
	s32 nid;
	s32 status;
	u64 memblock_size;
	u64 numa_mem_addr;
	u64 numa_mem_size;
	u8 use_auto_online;
	u8 pad[7];
	u64 offline_addresses[64];
	u32 numEntries;
	u32 pad1;
};
static_assert(sizeof(struct nv_ioctl_numa_info) == 560);

struct nv_ioctl_status_code {
	u32 domain;
	u8 bus;
	u8 slot;
	u16 pad;
	u32 status;
};
static_assert(sizeof(struct nv_ioctl_status_code) == 12);

struct nvos00 {				/* RM_FREE */
	u32 hRoot;
	u32 hObjectParent;
	u32 hObjectOld;
	u32 status;
};
static_assert(sizeof(struct nvos00) == 16);

struct nvos02_with_fd {			/* RM_ALLOC_MEMORY */
	u32 hRoot;
	u32 hObjectParent;
	u32 hObjectNew;
	u32 hClass;
	u32 flags;
	u32 pad0;
	u64 pMemory;
	u64 limit;
	u32 status;
	u32 pad1;
	s32 fd;
	u32 pad2;
};
static_assert(sizeof(struct nvos02_with_fd) == 56);

struct nvos21 {				/* RM_ALLOC, short form */
	u32 hRoot;
	u32 hObjectParent;
	u32 hObjectNew;
	u32 hClass;
	u64 pAllocParms;
	u32 paramsSize;
	u32 status;
};
static_assert(sizeof(struct nvos21) == 32);

struct nvos64 {				/* RM_ALLOC, with access rights */
	u32 hRoot;
	u32 hObjectParent;
	u32 hObjectNew;
	u32 hClass;
	u64 pAllocParms;
	u64 pRightsRequested;
	u32 paramsSize;
	u32 flags;
	u32 status;
	u32 pad;
};
static_assert(sizeof(struct nvos64) == 48);

/* NVOS32 functions and AllocSize words */
#define NVOS32_FUNCTION_ALLOC_SIZE			2
#define NVOS32_FUNCTION_FREE				3
#define NVOS32_FUNCTION_INFO				5
#define NVOS32_FUNCTION_ALLOC_TILED_PITCH_HEIGHT	6
#define NVOS32_FUNCTION_ALLOC_SIZE_RANGE		14

#define NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE	0x00000010
#define NVOS32_ALLOC_FLAGS_ALIGNMENT_FORCE		0x00000100
#define NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED	0x00004000
#define NVOS32_ALLOC_FLAGS_VIRTUAL			0x00080000

#define NVOS32_ATTR_LOCATION(attr)	(((attr) >> 25) & 3)
#define NVOS32_ATTR_LOCATION_VIDMEM	0
#define NVOS32_ATTR_LOCATION_PCI	1
#define NVOS32_ATTR_LOCATION_ANY	3
#define NVOS32_ATTR2_USE_EGM		BIT(24)

struct nvos32_alloc_size {
	u32 owner;
	u32 hMemory;
	u32 type;
	u32 flags;
	u32 attr;
	u32 format;
	u32 comprCovg;
	u32 zcullCovg;
	u32 partitionStride;
	u32 width;
	u32 height;
	u32 pad;
	u64 size;
	u64 alignment;
	u64 offset;
	u64 limit;
	u64 address;
	u64 rangeBegin;
	u64 rangeEnd;
	u32 attr2;
	u32 ctagOffset;
};

struct nvos32 {				/* VID_HEAP_CONTROL */
	u32 hRoot;
	u32 hObjectParent;
	u32 function;
	u32 hVASpace;
	u16 ivcHeapNumber;
	u16 pad;
	u32 status;
	u64 total;
	u64 free;
	union {
		struct nvos32_alloc_size alloc;
		struct {
			u32 owner;
			u32 hMemory;
			u32 flags;
		} free_mem;
		struct {
			u32 attr;
			u32 pad;
			u64 offset;
			u64 size;
			u64 base;
		} info;
		u8 raw[144];
	} data;
};
static_assert(sizeof(struct nvos32) == 184);
static_assert(offsetof(struct nvos32, data.alloc.size) == 88);
static_assert(offsetof(struct nvos32, data.alloc.attr2) == 144);

struct nvos33_with_fd {			/* RM_MAP_MEMORY */
	u32 hClient;
	u32 hDevice;
	u32 hMemory;
	u32 pad0;
	u64 offset;
	u64 length;
	u64 pLinearAddress;
	u32 status;
	u32 flags;
	s32 fd;
	u32 pad1;
};
static_assert(sizeof(struct nvos33_with_fd) == 56);

struct nvos34 {				/* RM_UNMAP_MEMORY */
	u32 hClient;
	u32 hDevice;
	u32 hMemory;
	u32 pad;
	u64 pLinearAddress;
	u32 status;
	u32 flags;
};
static_assert(sizeof(struct nvos34) == 32);

struct nvos46 {				/* RM_MAP_MEMORY_DMA */
	u32 hClient;
	u32 hDevice;
	u32 hDma;
	u32 hMemory;
	u64 offset;
	u64 length;
	u32 flags;
	u32 pad;
	u64 dmaOffset;
	u32 status;
	u32 pad1;
};
static_assert(sizeof(struct nvos46) == 56);

struct nvos47 {				/* RM_UNMAP_MEMORY_DMA */
	u32 hClient;
	u32 hDevice;
	u32 hDma;
	u32 hMemory;
	u32 flags;
	u32 pad;
	u64 dmaOffset;
	u32 status;
	u32 pad1;
};
static_assert(sizeof(struct nvos47) == 40);

struct nvos54 {				/* RM_CONTROL */
	u32 hClient;
	u32 hObject;
	u32 cmd;
	u32 flags;
	u64 params;
	u32 paramsSize;
	u32 status;
};
static_assert(sizeof(struct nvos54) == 32);

#define NV04_DUP_HANDLE_FLAGS_NONE	0
struct nvos55 {				/* RM_DUP_OBJECT */
	u32 hClient;
	u32 hParent;
	u32 hObject;
	u32 hClientSrc;
	u32 hObjectSrc;
	u32 flags;
	u32 status;
};
static_assert(sizeof(struct nvos55) == 28);

struct nvos56 {				/* RM_UPDATE_DEVICE_MAPPING_INFO */
	u32 hClient;
	u32 hDevice;
	u32 hMemory;
	u32 pad;
	u64 pOldCpuAddress;
	u64 pNewCpuAddress;
	u32 status;
	u32 pad1;
};
static_assert(sizeof(struct nvos56) == 40);

/* rs_access.h */
#define RS_SHARE_TYPE_ALL			1
#define RS_SHARE_TYPE_OS_SECURITY_TOKEN		2
#define RS_SHARE_TYPE_CLIENT			3
#define RS_SHARE_TYPE_PID			4
#define RS_SHARE_ACTION_FLAG_REVOKE		1

struct rs_share_policy {
	u32 target;
	u32 accessMask;
	u16 type;
	u8 action;
	u8 pad;
};

struct nvos57 {				/* RM_SHARE */
	u32 hClient;
	u32 hObject;
	struct rs_share_policy sharePolicy;
	u32 status;
};
static_assert(sizeof(struct nvos57) == 24);

/* Parameters of classes */
struct nv_memory_allocation_params {
	u32 owner;
	u32 type;
	u32 flags;
	u32 width;
	u32 height;
	s32 pitch;
	u32 attr;
	u32 attr2;
	u32 format;
	u32 comprCovg;
	u32 zcullCovg;
	u32 pad;
	u64 rangeLo;
	u64 rangeHi;
	u64 size;
	u64 alignment;
	u64 offset;
	u64 limit;
	u64 address;
	u32 ctagOffset;
	u32 hVASpace;
	u32 internalflags;
	u32 tag;
};
static_assert(sizeof(struct nv_memory_allocation_params) == 120);

struct nv_memory_virtual_allocation_params {
	u64 offset;
	u64 limit;
	u32 hVASpace;
	u32 pad;
};
static_assert(sizeof(struct nv_memory_virtual_allocation_params) == 24);

struct nv_channel_group_allocation_parameters {
	u32 hObjectError;
	u32 hObjectEccError;
	u32 hVASpace;
	u32 engineType;
	u8 bIsCallingContextVgpuPlugin;
	u8 pad[3];
};
static_assert(sizeof(struct nv_channel_group_allocation_parameters) == 20);

struct nv_memory_desc_params {
	u64 base;
	u64 size;
	u32 addressSpace;
	u32 cacheAttrib;
};

struct nv_channel_alloc_params {
	u32 hObjectError;
	u32 hObjectBuffer;
	u64 gpFifoOffset;
	u32 gpFifoEntries;
	u32 flags;
	u32 hContextShare;
	u32 hVASpace;
	u32 hUserdMemory[8];
	u64 userdOffset[8];
	u32 engineType;
	u32 cid;
	u32 subDeviceId;
	u32 hObjectEccError;
	struct nv_memory_desc_params instanceMem;
	struct nv_memory_desc_params userdMem;
	struct nv_memory_desc_params ramfcMem;
	struct nv_memory_desc_params mthdbufMem;
	u32 hPhysChannelGroup;
	u32 internalFlags;
	struct nv_memory_desc_params errorNotifierMem;
	struct nv_memory_desc_params eccErrorNotifierMem;
	u32 ProcessID;
	u32 SubProcessID;
	u32 encryptIv[3];
	u32 decryptIv[3];
	u32 hmacNonce[8];
};
static_assert(sizeof(struct nv_channel_alloc_params) == 360);

struct nv_vaspace_allocation_parameters {
	u32 index;
	u32 flags;
	u64 vaSize;
	u64 vaStartInternal;
	u64 vaLimitInternal;
	u32 bigPageSize;
	u32 pad;
	u64 vaBase;
};
static_assert(sizeof(struct nv_vaspace_allocation_parameters) == 48);

struct nv_ctxshare_allocation_parameters {
	u32 hVASpace;
	u32 flags;
	u32 subctxId;
};
static_assert(sizeof(struct nv_ctxshare_allocation_parameters) == 12);

struct nv0005_alloc_parameters {
	u32 hParentClient;
	u32 hSrcResource;
	u32 hClass;
	u32 notifyIndex;
	u64 data;
};
static_assert(sizeof(struct nv0005_alloc_parameters) == 24);

struct nv0080_alloc_parameters {
	u32 deviceId;
	u32 hClientShare;
	u32 hTargetClient;
	u32 hTargetDevice;
	u32 flags;
	u32 pad;
	u64 vaSpaceSize;
	u64 vaStartInternal;
	u64 vaLimitInternal;
	u32 vaMode;
	u32 pad1;
};
static_assert(sizeof(struct nv0080_alloc_parameters) == 56);

struct nv83de_alloc_parameters {
	u32 hDebuggerClient_Obsolete;
	u32 hAppClient;
	u32 hClass3dObject;
};

#endif
