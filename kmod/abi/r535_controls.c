// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Driver branch 535: the controls of RM_CONTROL that are more than forwarded, nvidia-uvm, list
 * elements, versions.
 */
#include "tables.h"

/* src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h: NV0000_CTRL_GPU_GET_ATTACHED_IDS_PARAMS */
static const struct vgpu_rm_field attached_ids[] = {
	FIELDS(LIST, 0, 4, 32),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h: NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS */
static const struct vgpu_rm_field probed_ids[] = {
	FIELDS(LIST, 0, 4, 32),
	FIELDS(LIST, 128, 4, 32),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h: NV0000_CTRL_GPU_ATTACH_IDS_PARAMS */
static const struct vgpu_rm_field attach_ids[] = {
	FIELDS(LIST, 0, 4, 32),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h: NV0000_CTRL_GPU_GET_ID_INFO_PARAMS */
static const struct vgpu_rm_field id_info[] = {
	FIELD(GPU_ID, 0, 4),
	FIELD(INSTANCE, 8, 4),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h: NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS */
static const struct vgpu_rm_field id_info_v2[] = {
	FIELD(GPU_ID, 0, 4),
	FIELD(INSTANCE, 8, 4),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fb.h: NV2080_CTRL_FB_GET_INFO_PARAMS */
static const struct vgpu_rm_field fb_info[] = {
	FIELD(COUNT, 0, 4),
	FIELDS(DEEP_PTR, 8, 8, 54),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fb.h: NV2080_CTRL_FB_GET_INFO_V2_PARAMS */
static const struct vgpu_rm_field fb_info_v2[] = {
	FIELD(COUNT, 0, 4),
	FIELDS(LIST, 4, 8, 54),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gpu.h: NV2080_CTRL_GPU_GET_PIDS_PARAMS */
static const struct vgpu_rm_field pids[] = {
	FIELD(INDEX, 0, 4),
	FIELD(CLASS, 4, 4),
	FIELD(COUNT, 8, 4),
	FIELDS(LIST, 12, 4, 950),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gpu.h: NV2080_CTRL_GPU_GET_PID_INFO_PARAMS */
static const struct vgpu_rm_field pid_info[] = {
	FIELD(COUNT, 0, 4),
	FIELDS(LIST, 8, 72, 200),
};

/*
 * src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gr.h: NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE_PARAMS
 */
static const struct vgpu_rm_field ctx_buffers[] = {
	FIELD(OBJECT, 0, 4),
	FIELD(SIZE, 8, 8),
};

/* kernel-open/common/inc/nv-ioctl.h: nv_ioctl_card_info_t */
static const struct vgpu_rm_field card_item[] = {
	FIELD(GPU_ID, 16, 4),
	FIELD(MINOR, 56, 4),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fb.h: NV2080_CTRL_FB_INFO */
static const struct vgpu_rm_field fb_item[] = {
	FIELD(INDEX, 0, 4),
	FIELD(VALUE, 4, 4),
};

/* src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gpu.h: NV2080_CTRL_GPU_PID_INFO */
static const struct vgpu_rm_field pid_item[] = {
	FIELD(PID, 0, 4),
	FIELD(INDEX, 4, 4),
	FIELD(VALUE, 8, 4),
	FIELDS(MEMORY, 16, 8, 6),
};

/*
 * Refused: accounting of other processes; memory that goes from file to file, which an open
 * descriptor keeps alive after its owner has gone.
 */
static const struct vgpu_rm_row controls[] = {
	ROW(0x201, 128, CONTROL_ATTACHED_IDS, ANY, attached_ids,
	    NV0000_CTRL_CMD_GPU_GET_ATTACHED_IDS),
	ROW(0x202, 40, CONTROL_ID_INFO, ANY, id_info, NV0000_CTRL_CMD_GPU_GET_ID_INFO),
	ROW(0x205, 32, CONTROL_ID_INFO, ANY, id_info_v2, NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2),
	ROW(0x214, 256, CONTROL_PROBED_IDS, ANY, probed_ids, NV0000_CTRL_CMD_GPU_GET_PROBED_IDS),
	ROW(0x215, 132, CONTROL_ATTACH_IDS, ANY, attach_ids, NV0000_CTRL_CMD_GPU_ATTACH_IDS),
	CONTROL_OFF(0xb03, NV0000_CTRL_CMD_GPUACCT_GET_PROC_ACCOUNTING_INFO),
	CONTROL_OFF(0xb04, NV0000_CTRL_CMD_GPUACCT_GET_ACCOUNTING_PIDS),
	CONTROL_OFF(0x3d05, NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECT_TO_FD),
	CONTROL_OFF(0x3d06, NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECT_FROM_FD),
	CONTROL_OFF(0x3d0a, NV0000_CTRL_CMD_OS_UNIX_CREATE_EXPORT_OBJECT_FD),
	CONTROL_OFF(0x3d0b, NV0000_CTRL_CMD_OS_UNIX_EXPORT_OBJECTS_TO_FD),
	CONTROL_OFF(0x3d0c, NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD),
	ROW(0x2080018d, 3812, CONTROL_PIDS, ANY, pids, NV2080_CTRL_CMD_GPU_GET_PIDS),
	ROW(0x2080018e, 14408, CONTROL_PID_INFO, ANY, pid_info, NV2080_CTRL_CMD_GPU_GET_PID_INFO),
	ROW(0x20801218, 16, CONTROL_CTX_BUFFERS, ANY, ctx_buffers,
	    NV2080_CTRL_CMD_GR_GET_CTX_BUFFER_SIZE),
	ROW(0x20801301, 16, CONTROL_FB_INFO, ANY, fb_info, NV2080_CTRL_CMD_FB_GET_INFO),
	ROW(0x20801303, 436, CONTROL_FB_INFO_V2, ANY, fb_info_v2, NV2080_CTRL_CMD_FB_GET_INFO_V2),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: rmStatus of the structs that hold nothing else for us */
static const struct vgpu_rm_field uvm_status_8[] = {
	FIELD(STATUS, 8, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_REGISTER_GPU_VASPACE_PARAMS */
static const struct vgpu_rm_field uvm_register_gpu_vaspace[] = {
	FIELD(CLIENT, 20, 4),
	FIELD(OBJECT, 24, 4),
	FIELD(STATUS, 28, 4),
};

static const struct vgpu_rm_field uvm_status_16[] = {
	FIELD(STATUS, 16, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_REGISTER_CHANNEL_PARAMS */
static const struct vgpu_rm_field uvm_register_channel[] = {
	FIELD(CLIENT, 20, 4),
	FIELD(OBJECT, 24, 4),
	FIELD(STATUS, 48, 4),
};

static const struct vgpu_rm_field uvm_status_24[] = {
	FIELD(STATUS, 24, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_ENABLE_PEER_ACCESS_PARAMS */
static const struct vgpu_rm_field uvm_enable_peer_access[] = {
	FIELDS(UUID, 0, 16, 2),
	FIELD(STATUS, 32, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_DISABLE_PEER_ACCESS_PARAMS */
static const struct vgpu_rm_field uvm_disable_peer_access[] = {
	FIELDS(UUID, 0, 16, 2),
	FIELD(STATUS, 32, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_MAP_EXTERNAL_ALLOCATION_PARAMS */
static const struct vgpu_rm_field uvm_map_external_allocation[] = {
	FIELD(BASE, 0, 8),
	FIELD(LENGTH, 8, 8),
	FIELDS(UUID, 24, 36, 32),
	FIELD(COUNT, 1176, 8),
	FIELD(CLIENT, 1188, 4),
	FIELD(OBJECT, 1192, 4),
	FIELD(STATUS, 1196, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_FREE_PARAMS, UVM_CREATE_EXTERNAL_RANGE_PARAMS */
static const struct vgpu_rm_field uvm_free[] = {
	FIELD(BASE, 0, 8),
	FIELD(LENGTH, 8, 8),
	FIELD(STATUS, 16, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_REGISTER_GPU_PARAMS */
static const struct vgpu_rm_field uvm_register_gpu[] = {
	FIELD(UUID, 0, 16),
	FIELD(STATUS, 36, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_PAGEABLE_MEM_ACCESS_PARAMS */
static const struct vgpu_rm_field uvm_pageable_mem_access[] = {
	FIELD(VALUE, 0, 1),
	FIELD(STATUS, 4, 4),
};

static const struct vgpu_rm_field uvm_status_32[] = {
	FIELD(STATUS, 32, 4),
};

static const struct vgpu_rm_field uvm_status_72[] = {
	FIELD(STATUS, 72, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_UNMAP_EXTERNAL_PARAMS */
static const struct vgpu_rm_field uvm_unmap_external[] = {
	FIELD(BASE, 0, 8),
	FIELD(LENGTH, 8, 8),
	FIELD(UUID, 16, 16),
	FIELD(STATUS, 32, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_ALLOC_SEMAPHORE_POOL_PARAMS */
static const struct vgpu_rm_field uvm_alloc_semaphore_pool[] = {
	FIELD(BASE, 0, 8),
	FIELD(LENGTH, 8, 8),
	FIELD(STATUS, 1176, 4),
};

/* kernel-open/nvidia-uvm/uvm_ioctl.h: UVM_PAGEABLE_MEM_ACCESS_ON_GPU_PARAMS */
static const struct vgpu_rm_field uvm_pageable_mem_access_on_gpu[] = {
	FIELD(VALUE, 16, 1),
	FIELD(STATUS, 20, 4),
};

static const struct vgpu_rm_field uvm_status_4[] = {
	FIELD(STATUS, 4, 4),
};

/* kernel-open/nvidia-uvm/uvm_linux_ioctl.h: UVM_INITIALIZE_PARAMS */
static const struct vgpu_rm_field uvm_initialize[] = {
	FIELD(FLAGS, 0, 8),
	FIELD(STATUS, 8, 4),
};

/*
 * kernel-open/nvidia-uvm/uvm_ioctl.h, uvm_linux_ioctl.h. Not here, and so refused: the interface
 * before UVM 8, tools, tests, MPS; POPULATE_PAGEABLE and MAP_EXTERNAL_SPARSE, which nothing here
 * needs.
 */
static const struct vgpu_rm_row uvm[] = {
	ROW(23, 16, UVM_OTHER, ANY, uvm_status_8, UVM_CREATE_RANGE_GROUP),
	ROW(24, 16, UVM_OTHER, ANY, uvm_status_8, UVM_DESTROY_RANGE_GROUP),
	ROW(25, 32, UVM_REGISTER_VASPACE, ANY, uvm_register_gpu_vaspace, UVM_REGISTER_GPU_VASPACE),
	ROW(26, 20, UVM_OTHER, ANY, uvm_status_16, UVM_UNREGISTER_GPU_VASPACE),
	ROW(27, 56, UVM_REGISTER_CHANNEL, ANY, uvm_register_channel, UVM_REGISTER_CHANNEL),
	ROW(28, 28, UVM_OTHER, ANY, uvm_status_24, UVM_UNREGISTER_CHANNEL),
	ROW(29, 36, UVM_PEER, ANY, uvm_enable_peer_access, UVM_ENABLE_PEER_ACCESS),
	ROW(30, 36, UVM_PEER, ANY, uvm_disable_peer_access, UVM_DISABLE_PEER_ACCESS),
	ROW(31, 32, UVM_OTHER, ANY, uvm_status_24, UVM_SET_RANGE_GROUP),
	ROW(33, 1200, UVM_MAP_EXTERNAL, ANY, uvm_map_external_allocation,
	    UVM_MAP_EXTERNAL_ALLOCATION),
	ROW(34, 24, UVM_FREE, ANY, uvm_free, UVM_FREE),
	ROW(37, 40, UVM_REGISTER_GPU, ANY, uvm_register_gpu, UVM_REGISTER_GPU),
	ROW(38, 20, UVM_OTHER, ANY, uvm_status_16, UVM_UNREGISTER_GPU),
	ROW(39, 8, UVM_PAGEABLE_ACCESS, ANY, uvm_pageable_mem_access, UVM_PAGEABLE_MEM_ACCESS),
	ROW(42, 40, UVM_OTHER, ANY, uvm_status_32, UVM_SET_PREFERRED_LOCATION),
	ROW(43, 24, UVM_OTHER, ANY, uvm_status_16, UVM_UNSET_PREFERRED_LOCATION),
	ROW(44, 24, UVM_OTHER, ANY, uvm_status_16, UVM_ENABLE_READ_DUPLICATION),
	ROW(45, 24, UVM_OTHER, ANY, uvm_status_16, UVM_DISABLE_READ_DUPLICATION),
	ROW(46, 40, UVM_OTHER, ANY, uvm_status_32, UVM_SET_ACCESSED_BY),
	ROW(47, 40, UVM_OTHER, ANY, uvm_status_32, UVM_UNSET_ACCESSED_BY),
	ROW(51, 80, UVM_OTHER, ANY, uvm_status_72, UVM_MIGRATE),
	ROW(53, 32, UVM_OTHER, ANY, uvm_status_24, UVM_MIGRATE_RANGE_GROUP),
	ROW(65, 40, UVM_OTHER, ANY, uvm_status_32, UVM_MAP_DYNAMIC_PARALLELISM_REGION),
	ROW(66, 40, UVM_UNMAP_EXTERNAL, ANY, uvm_unmap_external, UVM_UNMAP_EXTERNAL),
	ROW(68, 1184, UVM_SEMAPHORE_POOL, ANY, uvm_alloc_semaphore_pool, UVM_ALLOC_SEMAPHORE_POOL),
	ROW(70, 24, UVM_PAGEABLE_ACCESS, ANY, uvm_pageable_mem_access_on_gpu,
	    UVM_PAGEABLE_MEM_ACCESS_ON_GPU),
	ROW(72, 24, UVM_OTHER, ANY, uvm_status_16, UVM_VALIDATE_VA_RANGE),
	ROW(73, 24, UVM_CREATE_EXTERNAL, ANY, uvm_free, UVM_CREATE_EXTERNAL_RANGE),
	ROW(75, 8, UVM_MM_INITIALIZE, ANY, uvm_status_4, UVM_MM_INITIALIZE),
	ROW(VGPU_UVM_INITIALIZE, 16, UVM_INITIALIZE_OP, ANY, uvm_initialize, UVM_INITIALIZE),
	ROW0(VGPU_UVM_DEINITIALIZE, 0, UVM_OTHER, ANY, UVM_DEINITIALIZE),
};

static const struct vgpu_rm_row items[] = {
	ROW(VGPU_ITEM_CARD, 72, RM_OTHER, ANY, card_item, nv_ioctl_card_info_t),
	ROW(VGPU_ITEM_FB_INFO, 8, RM_OTHER, ANY, fb_item, NV2080_CTRL_FB_INFO),
	ROW(VGPU_ITEM_PID_INFO, 72, RM_OTHER, ANY, pid_item, NV2080_CTRL_GPU_PID_INFO),
};

const struct vgpu_rm_table vgpu_r535_controls = TABLE(controls);
const struct vgpu_rm_table vgpu_r535_uvm = TABLE(uvm);
const struct vgpu_rm_table vgpu_r535_items = TABLE(items);
