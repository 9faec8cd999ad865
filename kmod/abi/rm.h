/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the requests of NVIDIA's user space mean, by driver version: tables of facts, and one
 * bounds-checked decoder that reads them.
 *
 * The way of a request on nvidiactl or nvidia<n>:
 *
 *	vgpu_rm_decode()	the outer argument: what is asked of whom, where the inner one is
 *	(the caller copies req.ptr_size bytes from req.ptr, when that is not 0)
 *	vgpu_rm_decode_inner()	the inner argument: sizes, location, dependencies
 *	req.verdict		forward, refuse with a status, refuse with an errno
 *	req.takes, req.bytes	device memory to charge before the forward
 *	(the caller charges, forwards, copies both arguments back)
 *	vgpu_rm_reply()		status, the handle that the driver chose, the size that it gave
 *	(the caller settles; report.h rewrites what reports)
 *
 * nvidia-uvm has one step less, vgpu_uvm_decode(), since its arguments have no inner part that
 * matters.
 *
 * A row is one command: number, NVIDIA's name, the sizes that are accepted, what it is to us, and
 * where the few fields lie that we read or rewrite. Nothing here is NVIDIA's text: only numbers
 * and names, with the file that publishes them named beside.
 *
 * Sizes are exact, as the driver's are: a difference means another layout than the one in the
 * tables, and is refused instead of being guessed at.
 */
#ifndef VGPU_RM_H
#define VGPU_RM_H

#include "../core/port.h"

/* RM status, src/common/sdk/nvidia/inc/nvstatuscodes.h */
#define VGPU_NV_OK				0x00
#define VGPU_NV_ERR_INSUFFICIENT_PERMISSIONS	0x1b
#define VGPU_NV_ERR_INVALID_ARGUMENT		0x1f
#define VGPU_NV_ERR_INVALID_CLASS		0x22
#define VGPU_NV_ERR_INVALID_CLIENT		0x23
#define VGPU_NV_ERR_INVALID_DEVICE		0x26
#define VGPU_NV_ERR_INVALID_OBJECT_HANDLE	0x33
#define VGPU_NV_ERR_INVALID_PARAM_STRUCT	0x3a
#define VGPU_NV_ERR_NO_MEMORY			0x51
#define VGPU_NV_ERR_NOT_SUPPORTED		0x56
#define VGPU_NV_ERR_OBJECT_NOT_FOUND		0x57
#define VGPU_NV_WARN_NOTHING_TO_DO		0x10006

/* Handles and numbers that have a meaning of their own. */
#define VGPU_NV01_NULL_OBJECT			0
#define VGPU_UVM_INIT_MULTI_PROCESS_SHARING	0x2	/* kernel-open/nvidia-uvm/uvm_types.h */
#define VGPU_UVM_INITIALIZE			0x30000001
#define VGPU_UVM_DEINITIALIZE			0x30000002
#define VGPU_NV_ESC_IOCTL_XFER_CMD		211

/* What a request on nvidiactl or nvidia<n> is. */
enum vgpu_rm_op {
	VGPU_RM_OTHER,		/* forwarded or refused as it is */
	VGPU_RM_XFER,		/* another request: number cmd, ptr_size bytes at ptr */
	VGPU_RM_CARD_INFO,
	VGPU_RM_ATTACH_GPUS,
	VGPU_RM_REGISTER_FD,	/* fd */
	VGPU_RM_CHECK_VERSION,
	VGPU_RM_ALLOC,		/* client, parent, object, class; inner: the class's parameters */
	VGPU_RM_ALLOC_MEMORY,	/* client, parent, object, class, fd, bytes */
	VGPU_RM_ALLOC_CTXDMA,	/* client, parent, object, class, one dependency */
	VGPU_RM_FREE,		/* client, object */
	VGPU_RM_CONTROL,	/* client, object, cmd; inner: the control's parameters */
	VGPU_RM_DUP,		/* client, parent, object, src_client, src_object */
	VGPU_RM_SHARE,		/* client, object */
	VGPU_RM_VID_HEAP_ALLOC,	/* client, parent, object, bytes */
	VGPU_RM_VID_HEAP_FREE,	/* client, object */
	VGPU_RM_VID_HEAP_INFO,
	VGPU_RM_VID_HEAP_OTHER,
	VGPU_RM_MAP_MEMORY,	/* client, parent (device), object, fd */
	VGPU_RM_UNMAP_MEMORY,
	VGPU_RM_MAP_DMA,	/* client, parent (device), src_object (memory) */
	VGPU_RM_UNMAP_DMA,
};

/* What a class is to us. */
enum vgpu_rm_class {
	VGPU_CLASS_UNKNOWN,
	VGPU_CLASS_OTHER,	/* takes no device memory of a size that matters */
	VGPU_CLASS_CLIENT,
	VGPU_CLASS_DEVICE,	/* device_instance */
	VGPU_CLASS_SUBDEVICE,
	VGPU_CLASS_VIDMEM,	/* device memory */
	VGPU_CLASS_SYSMEM,	/* host memory */
	VGPU_CLASS_VIRTUAL,	/* address space only */
	VGPU_CLASS_VASPACE,
	VGPU_CLASS_TSG,
	VGPU_CLASS_CTXSHARE,
	VGPU_CLASS_CHANNEL,
	VGPU_CLASS_ENGINE,	/* copy, video, inline-to-memory: no context buffers of size */
	VGPU_CLASS_GRAPHICS,	/* compute and graphics objects: they make a context */
	VGPU_CLASS_USERMODE,	/* the doorbell page */
	VGPU_CLASS_EVENT,
	VGPU_CLASS_REFUSED,	/* known and not for a tenant */
};

/* What a control is to us. */
enum vgpu_rm_control {
	VGPU_CONTROL_OTHER,
	VGPU_CONTROL_REFUSED,
	VGPU_CONTROL_ATTACHED_IDS,
	VGPU_CONTROL_PROBED_IDS,
	VGPU_CONTROL_ATTACH_IDS,
	VGPU_CONTROL_ID_INFO,		/* gpu_id */
	VGPU_CONTROL_FB_INFO,		/* deep: a list behind deep_ptr */
	VGPU_CONTROL_FB_INFO_V2,
	VGPU_CONTROL_PIDS,
	VGPU_CONTROL_PID_INFO,
	VGPU_CONTROL_CTX_BUFFERS,	/* bytes in the reply */
};

enum vgpu_rm_verdict {
	VGPU_RM_FORWARD,
	VGPU_RM_REFUSE_STATUS,	/* the ioctl succeeds with refuse_status in its status field */
	VGPU_RM_REFUSE_ERRNO,	/* the ioctl fails with refuse_errno (positive) */
};

/* What a successful request takes of the device. */
enum vgpu_rm_takes {
	VGPU_TAKES_NOTHING,
	VGPU_TAKES_BUFFER,	/* bytes */
	VGPU_TAKES_CHANNEL,	/* a channel's own memory: no size in the request */
	VGPU_TAKES_CONTEXT,	/* a graphics context: no size in the request */
};

/* Names of the fields that rows place. */
enum vgpu_rm_slot {
	VGPU_F_CLIENT,
	VGPU_F_PARENT,
	VGPU_F_OBJECT,
	VGPU_F_CLASS,
	VGPU_F_CMD,
	VGPU_F_FLAGS,
	VGPU_F_SRC_CLIENT,
	VGPU_F_SRC_OBJECT,
	VGPU_F_FD,
	VGPU_F_PTR,		/* inner argument */
	VGPU_F_PTR_SIZE,
	VGPU_F_STATUS,
	VGPU_F_SIZE,		/* of memory, in and out */
	VGPU_F_ATTR,		/* NVOS32_ATTR_* */
	VGPU_F_ATTR2,
	VGPU_F_MEM_FLAGS,	/* NVOS32_ALLOC_FLAGS_* */
	VGPU_F_DESCRIPTOR,	/* NVOS32_DESCRIPTOR_TYPE_* */
	VGPU_F_TOTAL,
	VGPU_F_FREE,
	VGPU_F_BASE,
	VGPU_F_LENGTH,
	VGPU_F_UUID,
	VGPU_F_GPU_ID,
	VGPU_F_MINOR,
	VGPU_F_INSTANCE,
	VGPU_F_COUNT,		/* elements used of LIST or behind DEEP_PTR */
	VGPU_F_LIST,
	VGPU_F_DEEP_PTR,	/* pointer in an inner argument, to at most count elements */
	VGPU_F_INDEX,
	VGPU_F_VALUE,
	VGPU_F_HEIGHT,
	VGPU_F_PITCH,
	VGPU_F_PID,
	VGPU_F_MEMORY,		/* of a process */
	VGPU_F_DEP,		/* the new object goes when that one goes */
	VGPU_F_HOLD,		/* the new object keeps that one's memory */
	VGPU_F_SLOTS,
};

#define VGPU_RM_MAX_DEPS	12

/**
 * struct vgpu_rm_field - where a field lies
 * @slot: enum vgpu_rm_slot
 * @width: bytes of one element: 1, 2, 4 or 8 for a number, more for a struct
 * @offset: from the start of the argument
 * @count: elements; 0: as many as the argument has room for
 */
struct vgpu_rm_field {
	u8 slot;
	u8 width;
	u16 offset;
	u16 count;
};

#define VGPU_ANY_SIZE	0xffffffffu

/**
 * struct vgpu_rm_row - a command, a class or a control
 * @nr: its number
 * @size: bytes of its argument; 0: it has none. With @size2 VGPU_ANY_SIZE the least
 * @what: enum vgpu_rm_op, vgpu_rm_class, vgpu_rm_control or vgpu_uvm_op, by table
 * @where: enum vgpu_rm_where
 * @refuse: 0: forwarded; else the RM status it is refused with, or for an escape the errno
 * @size2: VGPU_ANY_SIZE or 0
 * @nr_fields: entries of @fields
 * @fields: what we read or rewrite
 * @name: NVIDIA's name
 */
struct vgpu_rm_row {
	u32 nr;
	u32 size;
	u32 size2;
	u16 what;
	u8 where;
	u8 refuse;
	u32 nr_fields;
	const struct vgpu_rm_field *fields;
	const char *name;
};

/* On which nodes the driver takes an escape. */
enum vgpu_rm_where {
	VGPU_ON_ANY,
	VGPU_ON_CTL,
	VGPU_ON_GPU,
};

struct vgpu_rm_table {
	const struct vgpu_rm_row *rows;
	u32 nr;
};

/**
 * struct vgpu_rm_abi - the tables of one layout
 * @name: of the branch
 * @escapes: by ioctl number; RM_ALLOC has two rows that differ by size
 * @classes: RM_ALLOC by class
 * @controls: RM_CONTROL by command; commands that are not listed are VGPU_CONTROL_OTHER
 * @functions: VID_HEAP_CONTROL by function
 * @memories: ALLOC_MEMORY by class
 * @uvm: nvidia-uvm by command
 * @items: list elements inside the above, by enum vgpu_rm_item
 * @control_nr: number of RM_CONTROL; this and the next two say again what its row does, for
 *	those that look at nothing else
 * @control_size: bytes of its argument
 * @control_cmd: offset of the command in it
 * @channel_size: bytes of NV_CHANNEL_ALLOC_PARAMS, the only struct that differs inside a branch
 */
struct vgpu_rm_abi {
	const char *name;
	const struct vgpu_rm_table *escapes;
	const struct vgpu_rm_table *classes;
	const struct vgpu_rm_table *controls;
	const struct vgpu_rm_table *functions;
	const struct vgpu_rm_table *memories;
	const struct vgpu_rm_table *uvm;
	const struct vgpu_rm_table *items;
	u32 control_nr;
	u32 control_size;
	u32 control_cmd;
	u32 channel_size;
};

enum vgpu_rm_item {
	VGPU_ITEM_CARD,		/* nv_ioctl_card_info_t */
	VGPU_ITEM_FB_INFO,	/* NV2080_CTRL_FB_INFO */
	VGPU_ITEM_PID_INFO,	/* NV2080_CTRL_GPU_PID_INFO */
};

/**
 * struct vgpu_rm_req - a decoded request
 * @abi: the tables
 * @row: row of the escape, NULL when unknown
 * @inner_row: row of the class, control or function, NULL when there is none
 * @op: enum vgpu_rm_op
 * @verdict: enum vgpu_rm_verdict
 * @refuse_status: RM status of VGPU_RM_REFUSE_STATUS
 * @refuse_errno: positive errno of VGPU_RM_REFUSE_ERRNO
 * @nr, @len: ioctl number and size
 * @client, @parent, @object: handles; object 0 in an allocation lets the driver choose
 * @class: class of an allocation
 * @class_kind: enum vgpu_rm_class of it
 * @cmd: control command, heap function or number of a wrapped request
 * @control: enum vgpu_rm_control of it
 * @src_client, @src_object: source of a duplicate or a mapping
 * @fd: descriptor named in the request, -1 when none
 * @flags: flags of the escape
 * @ptr, @ptr_size: user address and bytes of the inner argument, 0 bytes when it is not needed
 * @deep_ptr, @deep_size: user address and bytes behind a pointer in the inner argument
 * @takes: enum vgpu_rm_takes
 * @bytes: size asked, as charged before the forward: rounded up to the page size of the request
 * @asked: size asked, as it is in the request
 * @device_instance: of VGPU_CLASS_DEVICE
 * @gpu_id: of the id controls
 * @deps, @nr_deps: handles that the new object needs
 * @holds: bit n: it holds the memory of deps[n]; else it goes when deps[n] goes
 */
struct vgpu_rm_req {
	const struct vgpu_rm_abi *abi;
	const struct vgpu_rm_row *row;
	const struct vgpu_rm_row *inner_row;
	u32 op;
	u32 verdict;
	u32 refuse_status;
	u32 refuse_errno;
	u32 nr;
	u32 len;
	u32 client;
	u32 parent;
	u32 object;
	u32 class;
	u32 class_kind;
	u32 cmd;
	u32 control;
	u32 src_client;
	u32 src_object;
	s32 fd;
	u32 flags;
	u64 ptr;
	u64 deep_ptr;
	u32 ptr_size;
	u32 deep_size;
	u32 takes;
	u64 bytes;
	u64 asked;
	u32 device_instance;
	u32 gpu_id;
	u32 nr_deps;
	u32 holds;
	u32 deps[VGPU_RM_MAX_DEPS];
};

/**
 * struct vgpu_rm_result - what the driver answered
 * @status: RM status
 * @object: handle of the new object
 * @bytes: device memory that it gave (VGPU_TAKES_BUFFER; never less than was asked, whatever the
 *	buffer says by now), or context buffers (VGPU_CONTROL_CTX_BUFFERS)
 */
struct vgpu_rm_result {
	u32 status;
	u32 object;
	u64 bytes;
};

/* Tables of a driver version ("535.309.01"), NULL when it is not known. */
const struct vgpu_rm_abi *vgpu_rm_abi(const char *version);
/* The n-th known version, NULL past the end. */
const char *vgpu_rm_version(u32 n);

/*
 * Decodes the outer argument. @ctl: on nvidiactl. Fills @req whatever the bytes are; reads nothing
 * outside buf[0..len). What is unknown, misplaced or of a wrong size gets a verdict to refuse.
 */
void vgpu_rm_decode(const struct vgpu_rm_abi *abi, bool ctl, u32 nr, const void *buf, u32 len,
		    struct vgpu_rm_req *req);

/* Decodes the inner argument: @len bytes read from req->ptr, normally req->ptr_size. May refuse. */
void vgpu_rm_decode_inner(struct vgpu_rm_req *req, const void *inner, u32 len);

/* Reads the answer. @inner NULL when the request had none. */
void vgpu_rm_reply(const struct vgpu_rm_req *req, const void *buf, u32 len, const void *inner,
		   u32 inner_len, struct vgpu_rm_result *result);

/*
 * Makes @handle the handle of an allocation that leaves the choice to the driver (req->object 0),
 * in the request and in the outer argument. False: it has no such field.
 */
bool vgpu_rm_set_object(struct vgpu_rm_req *req, void *buf, u32 len, u32 handle);

/*
 * Writes an RM status into the outer argument. False: it has no status field; fail the ioctl
 * instead.
 */
bool vgpu_rm_set_status(const struct vgpu_rm_req *req, void *buf, u32 len, u32 status);

/*
 * Reads or writes a field of a row in buf[0..len); false: the row has no such field, or it lies
 * outside.
 */
bool vgpu_rm_get(const struct vgpu_rm_row *row, u32 slot, u32 index, const void *buf, u32 len,
		 u64 *value);
bool vgpu_rm_put(const struct vgpu_rm_row *row, u32 slot, u32 index, void *buf, u32 len, u64 value);
const struct vgpu_rm_field *vgpu_rm_field(const struct vgpu_rm_row *row, u32 slot);
const struct vgpu_rm_row *vgpu_rm_row(const struct vgpu_rm_table *table, u32 nr);
const struct vgpu_rm_row *vgpu_rm_item(const struct vgpu_rm_abi *abi, u32 item);

/* What a call on nvidia-uvm is. */
enum vgpu_uvm_op {
	VGPU_UVM_OTHER,
	VGPU_UVM_INITIALIZE_OP,		/* force multi-process sharing, hide it in the reply */
	VGPU_UVM_MM_INITIALIZE,		/* answered by us: VGPU_NV_WARN_NOTHING_TO_DO */
	VGPU_UVM_REGISTER_GPU,		/* uuid must be granted */
	VGPU_UVM_PEER,			/* two uuids, both granted */
	VGPU_UVM_REGISTER_VASPACE,	/* client, object in the book */
	VGPU_UVM_REGISTER_CHANNEL,	/* client, object in the book */
	/*
	 * base, length, client, object, uuids: holds the object's charge once for each GPU.
	 * Replaces what was mapped there on that GPU; a part that is left over keeps the memory
	 * whole (535.288.01 kernel-open/nvidia-uvm/uvm_map_external.c).
	 */
	VGPU_UVM_MAP_EXTERNAL,
	VGPU_UVM_UNMAP_EXTERNAL,	/* base, length, uuid */
	VGPU_UVM_CREATE_EXTERNAL,	/* base, length: mappings follow */
	VGPU_UVM_FREE,			/* base, length of the whole external range */
	VGPU_UVM_SEMAPHORE_POOL,	/* base, length: the mmap of it follows */
	VGPU_UVM_PAGEABLE_ACCESS,	/* answered 0 */
};

/**
 * struct vgpu_uvm_req - a decoded call on nvidia-uvm
 * @row: its row, NULL when unknown
 * @op: enum vgpu_uvm_op
 * @verdict, @refuse_status, @refuse_errno: as in struct vgpu_rm_req
 * @cmd: the ioctl command, a plain number
 * @size: bytes of its argument
 * @status_offset: of the RM status in it
 * @client, @object: RM handles
 * @base, @length: address range
 * @flags: of UVM_INITIALIZE
 * @nr_uuids: how many GPUs it names, all inside the argument
 * @uuid: offset of the 16 bytes of the first one
 * @uuid_stride: from one to the next
 */
struct vgpu_uvm_req {
	const struct vgpu_rm_row *row;
	u32 op;
	u32 verdict;
	u32 refuse_status;
	u32 refuse_errno;
	u32 cmd;
	u32 size;
	u32 status_offset;
	u32 client;
	u32 object;
	u64 base;
	u64 length;
	u64 flags;
	u32 nr_uuids;
	u32 uuid;
	u32 uuid_stride;
};

/* Bytes to copy in for @cmd; 0: no argument or unknown. */
u32 vgpu_uvm_size(const struct vgpu_rm_abi *abi, u32 cmd);
void vgpu_uvm_decode(const struct vgpu_rm_abi *abi, u32 cmd, const void *buf, u32 len,
		     struct vgpu_uvm_req *req);
bool vgpu_uvm_set_status(const struct vgpu_uvm_req *req, void *buf, u32 len, u32 status);

#endif /* VGPU_RM_H */
