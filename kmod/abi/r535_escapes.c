// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Driver branch 535: escapes of nvidiactl and nvidia<n>, functions of VID_HEAP_CONTROL, classes of
 * ALLOC_MEMORY. Sizes and offsets are those of 535.288.01; all 38 published versions of the branch
 * agree. Paths are those of NVIDIA's open kernel modules.
 */
#include "tables.h"

/* src/common/sdk/nvidia/inc/nvos.h: NVOS00_PARAMETERS */
static const struct vgpu_rm_field nvos00[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(STATUS, 12, 4),
};

/*
 * src/nvidia/arch/nvalloc/unix/include/nv-unix-nvos-params-wrappers.h:
 * nv_ioctl_nvos02_parameters_with_fd
 */
static const struct vgpu_rm_field nvos02[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(CLASS, 12, 4),
	FIELD(FLAGS, 16, 4),
	FIELD(STATUS, 40, 4),
	FIELD(FD, 48, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS05_PARAMETERS */
static const struct vgpu_rm_field nvos05[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(CLASS, 12, 4),
	FIELD(STATUS, 16, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS21_PARAMETERS */
static const struct vgpu_rm_field nvos21[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(CLASS, 12, 4),
	FIELD(PTR, 16, 8),
	FIELD(PTR_SIZE, 24, 4),
	FIELD(STATUS, 28, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS64_PARAMETERS */
static const struct vgpu_rm_field nvos64[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(CLASS, 12, 4),
	FIELD(PTR, 16, 8),
	FIELD(PTR_SIZE, 32, 4),
	FIELD(FLAGS, 36, 4),
	FIELD(STATUS, 40, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS30_PARAMETERS */
static const struct vgpu_rm_field nvos30[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(STATUS, 48, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS32_PARAMETERS */
static const struct vgpu_rm_field nvos32[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(CMD, 8, 4),
	FIELD(STATUS, 20, 4),
};

/*
 * src/nvidia/arch/nvalloc/unix/include/nv-unix-nvos-params-wrappers.h:
 * nv_ioctl_nvos33_parameters_with_fd
 */
static const struct vgpu_rm_field nvos33[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(LENGTH, 24, 8),
	FIELD(FLAGS, 44, 4),
	FIELD(STATUS, 40, 4),
	FIELD(FD, 48, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS34_PARAMETERS */
static const struct vgpu_rm_field nvos34[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(STATUS, 24, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS39_PARAMETERS */
static const struct vgpu_rm_field nvos39[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(CLASS, 12, 4),
	FIELD(FLAGS, 16, 4),
	FIELD(DEP, 24, 4),
	FIELD(STATUS, 48, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS46_PARAMETERS */
static const struct vgpu_rm_field nvos46[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(SRC_OBJECT, 12, 4),
	FIELD(FLAGS, 32, 4),
	FIELD(STATUS, 48, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS47_PARAMETERS */
static const struct vgpu_rm_field nvos47[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(SRC_OBJECT, 12, 4),
	FIELD(FLAGS, 16, 4),
	FIELD(STATUS, 32, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS49_PARAMETERS */
static const struct vgpu_rm_field nvos49[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(STATUS, 12, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS54_PARAMETERS */
static const struct vgpu_rm_field nvos54[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(OBJECT, 4, 4),
	FIELD(CMD, 8, 4),
	FIELD(FLAGS, 12, 4),
	FIELD(PTR, 16, 8),
	FIELD(PTR_SIZE, 24, 4),
	FIELD(STATUS, 28, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS55_PARAMETERS */
static const struct vgpu_rm_field nvos55[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(PARENT, 4, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(SRC_CLIENT, 12, 4),
	FIELD(SRC_OBJECT, 16, 4),
	FIELD(FLAGS, 20, 4),
	FIELD(STATUS, 24, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS56_PARAMETERS */
static const struct vgpu_rm_field nvos56[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(OBJECT, 8, 4),
	FIELD(STATUS, 32, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h: NVOS57_PARAMETERS */
static const struct vgpu_rm_field nvos57[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(OBJECT, 4, 4),
	FIELD(STATUS, 20, 4),
};

/* kernel-open/common/inc/nv-ioctl.h: nv_ioctl_xfer_t */
static const struct vgpu_rm_field xfer[] = {
	FIELD(CMD, 0, 4),
	FIELD(PTR_SIZE, 4, 4),
	FIELD(PTR, 8, 8),
};

/* kernel-open/common/inc/nv-ioctl.h: nv_ioctl_register_fd_t */
static const struct vgpu_rm_field register_fd[] = {
	FIELD(FD, 0, 4),
};

/* kernel-open/common/inc/nv-ioctl.h: nv_ioctl_alloc_os_event_t */
static const struct vgpu_rm_field os_event[] = {
	FIELD(CLIENT, 0, 4),
	FIELD(STATUS, 12, 4),
};

/* kernel-open/common/inc/nv-ioctl.h: nv_ioctl_export_to_dma_buf_fd_t */
static const struct vgpu_rm_field dma_buf[] = {
	FIELD(CLIENT, 4, 4),
	FIELD(STATUS, 2592, 4),
};

/* kernel-open/common/inc/nv-ioctl.h: nv_ioctl_numa_info_t */
static const struct vgpu_rm_field numa[] = {
	FIELD(STATUS, 4, 4),
};

/* The argument is an array of gpu ids, one NvU32 each. */
static const struct vgpu_rm_field gpu_ids[] = {
	FIELDS(LIST, 0, 4, 0),
};

/* src/common/sdk/nvidia/inc/nvos.h data.AllocSize of NVOS32_PARAMETERS */
static const struct vgpu_rm_field heap_size[] = {
	FIELD(OBJECT, 44, 4),
	FIELD(MEM_FLAGS, 52, 4),
	FIELD(ATTR, 56, 4),
	FIELD(SIZE, 88, 8),
	FIELD(ATTR2, 144, 4),
	FIELD(DEP, 12, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h data.AllocSizeRange of NVOS32_PARAMETERS */
static const struct vgpu_rm_field heap_range[] = {
	FIELD(OBJECT, 44, 4),
	FIELD(MEM_FLAGS, 52, 4),
	FIELD(ATTR, 56, 4),
	FIELD(SIZE, 80, 8),
	FIELD(ATTR2, 136, 4),
	FIELD(DEP, 12, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h data.AllocTiledPitchHeight of NVOS32_PARAMETERS */
static const struct vgpu_rm_field heap_tiled[] = {
	FIELD(OBJECT, 44, 4),
	FIELD(MEM_FLAGS, 52, 4),
	FIELD(ATTR, 64, 4),
	FIELD(SIZE, 88, 8),
	FIELD(ATTR2, 144, 4),
	FIELD(DEP, 12, 4),
	FIELD(HEIGHT, 56, 4),
	FIELD(PITCH, 60, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h data.Free of NVOS32_PARAMETERS */
static const struct vgpu_rm_field heap_free[] = {
	FIELD(OBJECT, 44, 4),
};

/* src/common/sdk/nvidia/inc/nvos.h data.Info of NVOS32_PARAMETERS */
static const struct vgpu_rm_field heap_info[] = {
	FIELD(TOTAL, 24, 8),
	FIELD(FREE, 32, 8),
	FIELD(VALUE, 56, 8),
};

/*
 * src/nvidia/arch/nvalloc/unix/include/nv_escape.h, sizes and nodes as in
 * src/nvidia/arch/nvalloc/unix/src/escape.c. Not here, and so refused: I2C_ACCESS, ACCESS_REGISTRY,
 * NVLOG_CTRL and the rest that only root's tools use.
 */
static const struct vgpu_rm_row escapes[] = {
	ROW(0x27, 56, RM_ALLOC_MEMORY, GPU, nvos02, NV_ESC_RM_ALLOC_MEMORY),
	REFUSED(0x28, 20, RM_OTHER, CTL, NOT_SUPPORTED, nvos05, NV_ESC_RM_ALLOC_OBJECT),
	ROW(0x29, 16, RM_FREE, CTL, nvos00, NV_ESC_RM_FREE),
	ROW(0x2a, 32, RM_CONTROL, CTL, nvos54, NV_ESC_RM_CONTROL),
	ROW(0x2b, 32, RM_ALLOC, ANY, nvos21, NV_ESC_RM_ALLOC),
	ROW(0x2b, 48, RM_ALLOC, ANY, nvos64, NV_ESC_RM_ALLOC),
	ROW(0x34, 28, RM_DUP, CTL, nvos55, NV_ESC_RM_DUP_OBJECT),
	ROW(0x35, 24, RM_SHARE, CTL, nvos57, NV_ESC_RM_SHARE),
	ROW(0x41, 56, RM_OTHER, CTL, nvos30, NV_ESC_RM_IDLE_CHANNELS),
	ROW(0x4a, 184, RM_VID_HEAP_OTHER, CTL, nvos32, NV_ESC_RM_VID_HEAP_CONTROL),
	ROW(0x4e, 56, RM_MAP_MEMORY, CTL, nvos33, NV_ESC_RM_MAP_MEMORY),
	ROW(0x4f, 32, RM_UNMAP_MEMORY, CTL, nvos34, NV_ESC_RM_UNMAP_MEMORY),
	ROW(0x54, 56, RM_ALLOC_CTXDMA, CTL, nvos39, NV_ESC_RM_ALLOC_CONTEXT_DMA2),
	ROW(0x57, 56, RM_MAP_DMA, CTL, nvos46, NV_ESC_RM_MAP_MEMORY_DMA),
	ROW(0x58, 40, RM_UNMAP_DMA, CTL, nvos47, NV_ESC_RM_UNMAP_MEMORY_DMA),
	REFUSED(0x59, 16, RM_OTHER, CTL, NOT_SUPPORTED, nvos49, NV_ESC_RM_BIND_CONTEXT_DMA),
	ROW(0x5e, 40, RM_OTHER, CTL, nvos56, NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO),
	/*
	 * kernel-open/common/inc/nv-ioctl-numbers.h. Not here, and so refused: STATUS_CODE,
	 * QUERY_DEVICE_INTR, SET_NUMA_STATUS.
	 */
	ROW_ANY0(200, 72, RM_CARD_INFO, CTL, NV_ESC_CARD_INFO),
	ROW(201, 4, RM_REGISTER_FD, GPU, register_fd, NV_ESC_REGISTER_FD),
	ROW(206, 16, RM_OTHER, ANY, os_event, NV_ESC_ALLOC_OS_EVENT),
	ROW(207, 16, RM_OTHER, ANY, os_event, NV_ESC_FREE_OS_EVENT),
	ROW0(210, 72, RM_CHECK_VERSION, CTL, NV_ESC_CHECK_VERSION_STR),
	ROW(211, 16, RM_XFER, ANY, xfer, NV_ESC_IOCTL_XFER_CMD),
	ROW_ANY(212, 4, RM_ATTACH_GPUS, CTL, gpu_ids, NV_ESC_ATTACH_GPUS_TO_FD),
	ROW0(214, 8, RM_OTHER, CTL, NV_ESC_SYS_PARAMS),
	ROW(215, 560, RM_OTHER, GPU, numa, NV_ESC_NUMA_INFO),
	REFUSED(217, 2600, RM_OTHER, GPU, NOT_SUPPORTED, dma_buf, NV_ESC_EXPORT_TO_DMABUF_FD),
};

/*
 * src/common/sdk/nvidia/inc/nvos.h: NVOS32_FUNCTION_*. Not here, and so refused: compression tags,
 * hardware resources, OS descriptors, dumps.
 */
static const struct vgpu_rm_row functions[] = {
	ROW(2, 184, RM_VID_HEAP_ALLOC, CTL, heap_size, NVOS32_FUNCTION_ALLOC_SIZE),
	ROW(3, 184, RM_VID_HEAP_FREE, CTL, heap_free, NVOS32_FUNCTION_FREE),
	ROW(5, 184, RM_VID_HEAP_INFO, CTL, heap_info, NVOS32_FUNCTION_INFO),
	ROW(6, 184, RM_VID_HEAP_ALLOC, CTL, heap_tiled, NVOS32_FUNCTION_ALLOC_TILED_PITCH_HEIGHT),
	ROW(14, 184, RM_VID_HEAP_ALLOC, CTL, heap_range, NVOS32_FUNCTION_ALLOC_SIZE_RANGE),
	ROW0(18, 184, RM_VID_HEAP_OTHER, CTL, NVOS32_FUNCTION_GET_MEM_ALIGNMENT),
};

/*
 * src/nvidia/interface/deprecated/rmapi_deprecated_allocmemory.c. LOCAL_USER there is a query of
 * the heap size, and LOCAL_PHYSICAL for root; lists, console and FLA name memory that nobody
 * charged.
 */
static const struct vgpu_rm_row memories[] = {
	ROW0(0x3e, 0, CLASS_SYSMEM, ANY, NV01_MEMORY_SYSTEM),
	ROW0(0x70, 0, CLASS_VIRTUAL, ANY, NV01_MEMORY_SYSTEM_DYNAMIC),
	ROW0(0x71, 0, CLASS_SYSMEM, ANY, NV01_MEMORY_SYSTEM_OS_DESCRIPTOR),
};

const struct vgpu_rm_table vgpu_r535_escapes = TABLE(escapes);
const struct vgpu_rm_table vgpu_r535_functions = TABLE(functions);
const struct vgpu_rm_table vgpu_r535_memories = TABLE(memories);
