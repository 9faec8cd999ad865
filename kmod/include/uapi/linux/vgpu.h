/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * vgpu: the one header shared by the module and user space.
 *
 * Verbs are ioctls on /dev/vgpuctl. State and events are read through the generic netlink family
 * VGPU_NL_NAME. Both need CAP_SYS_ADMIN in the initial user namespace and a caller in the initial
 * pid namespace that is in no tenant.
 *
 * Every ioctl struct begins with its own size and a flags word, and ends in a reason text, which
 * the module fills when it refuses. A shorter struct than the module's is an older caller (the
 * missing tail reads as zero); a longer one is accepted while its tail is zero. Errors, for all
 * verbs:
 *
 *	EFAULT		the struct or an array it points to cannot be read or written
 *	ENOTTY		unknown verb
 *	E2BIG		unknown tail with bytes set
 *	EINVAL		malformed field or unknown flag, a reserved field set
 *	EPERM		the caller may not use the control device
 *	EEXIST		the name is taken
 *	ENOENT		no tenant of that name
 *	ENOSPC		the limits of a GPU would sum above what it can give
 *	EBUSY		files of the tenant are open
 *	ENOMEM		no kernel memory
 *
 * Bytes are u64, times nanoseconds of CLOCK_MONOTONIC. Strings are NUL-terminated inside their
 * field.
 */
#ifndef _UAPI_LINUX_VGPU_H
#define _UAPI_LINUX_VGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VGPU_ABI_VERSION	1

#define VGPU_NAME_LEN		64	/* [a-z0-9][a-z0-9._-]*, with the NUL */
#define VGPU_UUID_LEN		48	/* "GPU-01234567-89ab-..." */
#define VGPU_PCI_LEN		16	/* "0000:01:00.0", as below /proc/driver/nvidia/gpus */
#define VGPU_VERSION_LEN	32	/* "535.309.01" */
#define VGPU_REASON_LEN		256
#define VGPU_MAX_SLICES		16	/* GPUs of one tenant */

#define VGPU_IOC_MAGIC		'V'

/* What a driver version is to us; vgpu_ioc_info.driver_state. */
#define VGPU_DRIVER_ABSENT	0	/* no backing driver is loaded */
#define VGPU_DRIVER_QUALIFIED	1	/* in the tables */
#define VGPU_DRIVER_UNQUALIFIED	2	/* not in the tables, allowed by allow_unqualified=1 */
#define VGPU_DRIVER_REFUSED	3	/* not in the tables: opens fail */

/**
 * struct vgpu_ioc_info - what the module is and what it sees
 * @size: sizeof(struct vgpu_ioc_info)
 * @flags: none yet
 * @out_abi_version: VGPU_ABI_VERSION of the module
 * @out_driver_state: VGPU_DRIVER_*
 * @out_driver: version string of the backing driver, empty when absent
 * @out_tenants: number of tenants
 * @reason: why the driver is refused, or why this call was
 */
struct vgpu_ioc_info {
	__u32 size;
	__u32 flags;
	__u32 out_abi_version;
	__u32 out_driver_state;
	char out_driver[VGPU_VERSION_LEN];
	__u32 out_tenants;
	__u32 __reserved;
	char reason[VGPU_REASON_LEN];
};

/* vgpu_slice_spec.flags */
#define VGPU_SLICE_NO_MANAGED	(1u << 0)	/* refuse managed memory instead of charging it */

/**
 * struct vgpu_slice_spec - one GPU of a new tenant
 * @uuid: the GPU, as NVML spells it
 * @pci: where it is
 * @memory_max: limit in bytes
 * @capacity: what all slices of this GPU may sum to: its memory less the driver's reserve
 * @flags: VGPU_SLICE_*
 * @__reserved: zero
 */
struct vgpu_slice_spec {
	char uuid[VGPU_UUID_LEN];
	char pci[VGPU_PCI_LEN];
	__aligned_u64 memory_max;
	__aligned_u64 capacity;
	__u32 flags;
	__u32 __reserved;
};

/* vgpu_ioc_create.flags */
#define VGPU_CREATE_BOUND	(1u << 0)	/* gone with its last mount and last open file */
#define VGPU_CREATE_OVERCOMMIT	(1u << 1)	/* limits may sum above the capacity */

/**
 * struct vgpu_ioc_create - make a tenant
 * @size: sizeof(struct vgpu_ioc_create)
 * @flags: VGPU_CREATE_*
 * @name: its name
 * @nr_slices: 1..VGPU_MAX_SLICES
 * @__reserved: zero
 * @slices: user pointer to @nr_slices struct vgpu_slice_spec; the n-th is its /dev/nvidia<n>
 * @out_id: number of the tenant, never reused while the module is loaded
 * @reason: why it was refused
 */
struct vgpu_ioc_create {
	__u32 size;
	__u32 flags;
	char name[VGPU_NAME_LEN];
	__u32 nr_slices;
	__u32 __reserved;
	__aligned_u64 slices;
	__aligned_u64 out_id;
	char reason[VGPU_REASON_LEN];
};

/**
 * struct vgpu_ioc_remove - remove a tenant
 * @size: sizeof(struct vgpu_ioc_remove)
 * @flags: none yet
 * @name: the tenant
 * @out_files: how many of its files are open
 * @__reserved: zero
 * @reason: why it was refused; names the pids that opened the files
 */
struct vgpu_ioc_remove {
	__u32 size;
	__u32 flags;
	char name[VGPU_NAME_LEN];
	__u32 out_files;
	__u32 __reserved;
	char reason[VGPU_REASON_LEN];
};

/**
 * struct vgpu_ioc_join - record the cgroup of a tenant's container
 * @size: sizeof(struct vgpu_ioc_join)
 * @flags: none yet
 * @name: the tenant
 * @cgroup_fd: open directory of the cgroup v2; whoever is at or below it may not use this device
 * @__reserved: zero
 * @reason: why it was refused
 */
struct vgpu_ioc_join {
	__u32 size;
	__u32 flags;
	char name[VGPU_NAME_LEN];
	__s32 cgroup_fd;
	__u32 __reserved;
	char reason[VGPU_REASON_LEN];
};

/**
 * struct vgpu_ioc_calibrate - what a driver takes for contexts and channels of one GPU
 * @size: sizeof(struct vgpu_ioc_calibrate)
 * @flags: none yet
 * @uuid: the GPU
 * @driver: driver version that the figures were measured with; others do not use them
 * @channel_bytes: device memory per channel
 * @context_bytes: device memory per graphics or compute object
 * @reason: why it was refused
 */
struct vgpu_ioc_calibrate {
	__u32 size;
	__u32 flags;
	char uuid[VGPU_UUID_LEN];
	char driver[VGPU_VERSION_LEN];
	__aligned_u64 channel_bytes;
	__aligned_u64 context_bytes;
	char reason[VGPU_REASON_LEN];
};

#define VGPU_IOC_INFO		_IOWR(VGPU_IOC_MAGIC, 0x00, struct vgpu_ioc_info)
#define VGPU_IOC_CREATE		_IOWR(VGPU_IOC_MAGIC, 0x01, struct vgpu_ioc_create)
#define VGPU_IOC_REMOVE		_IOWR(VGPU_IOC_MAGIC, 0x02, struct vgpu_ioc_remove)
#define VGPU_IOC_JOIN		_IOWR(VGPU_IOC_MAGIC, 0x03, struct vgpu_ioc_join)
#define VGPU_IOC_CALIBRATE	_IOWR(VGPU_IOC_MAGIC, 0x04, struct vgpu_ioc_calibrate)

/* The file system of nodes: mount -t VGPU_FS_NAME -o tenant=NAME; one superblock a tenant. */
#define VGPU_FS_NAME		"vgpufs"
#define VGPU_FS_OPT_TENANT	"tenant"
#define VGPU_CTL_NAME		"vgpuctl"

/* Generic netlink: reads only. */
#define VGPU_NL_NAME		"vgpu"
#define VGPU_NL_VERSION		1
#define VGPU_NL_GROUP_EVENTS	"events"

enum vgpu_nl_cmd {
	VGPU_NL_CMD_UNSPEC,
	VGPU_NL_CMD_TENANT_GET,		/* dump: one message a tenant */
	VGPU_NL_CMD_EVENT,		/* multicast */
};

/* Top-level attributes of both commands. */
enum vgpu_nl_attr {
	VGPU_NL_A_UNSPEC,
	VGPU_NL_A_ID,			/* u64 */
	VGPU_NL_A_NAME,			/* string */
	VGPU_NL_A_FLAGS,		/* u32, VGPU_CREATE_* */
	VGPU_NL_A_FILES,		/* u32, open files */
	VGPU_NL_A_REASON,		/* string: why opens fail now; absent when they do not */
	VGPU_NL_A_SLICE,		/* nested vgpu_nl_slice_attr, one a slice, in order */
	VGPU_NL_A_SEQ,			/* u64, events: number of the event, without gaps */
	VGPU_NL_A_EVENT,		/* u32, enum vgpu_nl_event */
	VGPU_NL_A_PID,			/* u32, events: pid in the initial namespace */
	VGPU_NL_A_BYTES,		/* u64, events: bytes asked */
	VGPU_NL_A_PAD,
};

enum vgpu_nl_slice_attr {
	VGPU_NL_S_UNSPEC,
	VGPU_NL_S_INDEX,		/* u32: the n of the tenant's /dev/nvidia<n> */
	VGPU_NL_S_UUID,			/* string */
	VGPU_NL_S_PCI,			/* string */
	VGPU_NL_S_FLAGS,		/* u32, VGPU_SLICE_* */
	VGPU_NL_S_MEMORY_MAX,		/* u64, bytes; this and the following */
	VGPU_NL_S_MEMORY_CURRENT,	/* u64: sum of the next three */
	VGPU_NL_S_MEMORY_BUFFERS,	/* u64 */
	VGPU_NL_S_MEMORY_CONTEXTS,	/* u64: contexts and channels */
	VGPU_NL_S_MEMORY_MANAGED,	/* u64: managed ranges, by length */
	VGPU_NL_S_MEMORY_PEAK,		/* u64 */
	VGPU_NL_S_REFUSALS,		/* u64, count */
	VGPU_NL_S_PAD,
};

enum vgpu_nl_event {
	VGPU_NL_EVENT_UNSPEC,
	VGPU_NL_EVENT_CREATED,
	VGPU_NL_EVENT_REMOVED,
	VGPU_NL_EVENT_REFUSED,		/* memory refused at the limit; VGPU_NL_A_BYTES asked */
	VGPU_NL_EVENT_DENIED,		/* an open or a request that a tenant may not make */
};

#endif /* _UAPI_LINUX_VGPU_H */
