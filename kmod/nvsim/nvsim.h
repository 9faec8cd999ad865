/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nvsim: a simulated NVIDIA GPU and its kernel driver.
 *
 * Locking, outermost first:
 *
 *   nvsim_rm_lock	(mutex) clients and object trees: the "RM API lock". Never held across
 *			copy_{from,to}_user() and never taken with mmap_lock held (mmap, fault,
 *			vm_ops): callers copy in, lock, work, unlock, copy out.
 *   engine locks	a GPU's engine, VA spaces, UVM spaces: engine.c, vas.c and uvm.c say their
 *			order. Class and control hooks have nvsim_rm_lock and may take them.
 *   mem->lock		(mutex) backing pages of one memory object; sleeps, allocates.
 *   nvsim_books_lock	(spinlock, innermost) who holds how many bytes.
 *
 * A struct nvsim_object lives as long as its handle and is touched under nvsim_rm_lock only. What
 * must outlive the handle (memory behind a mapping, a channel the engine still runs) has a count of
 * its own: struct nvsim_mem here, the engine's structs there.
 */
#ifndef NVSIM_H
#define NVSIM_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "nvos.h"
#include "nvstatus.h"

struct class;
struct dentry;
struct vm_area_struct;

#define NVSIM_MAX_GPUS		16
#define NVSIM_PCI_VENDOR	0x10de
#define NVSIM_PCI_DEVICE	0x2230	/* GA102GL */
/* PCI bus in bits 15..8, as RM makes it */
#define NVSIM_GPU_ID(index)	(0x100U * ((index) + 1))

/* Module parameters (main.c) */
struct nvsim_config {
	unsigned int gpus;
	u64 vram[NVSIM_MAX_GPUS];
	u64 reserve;		/* bytes of each GPU the driver keeps for itself */
	u64 channel_bytes;	/* taken by a channel and named by no ioctl */
	u64 context_bytes;	/* taken by a compute or graphics object, likewise */
	const char *driver;	/* version string that is played */
};

extern struct nvsim_config nvsim_config;

/* How long a launch takes per block of its grid's X; may be changed while the module runs. */
u64 nvsim_block_ns(void);

/* ---- GPUs (gpu.c) ---- */

struct nvsim_engine;		/* engine.c */

struct nvsim_gpu {
	unsigned int index;	/* also minor number and deviceInstance */
	u32 gpu_id;
	u8 bus;
	u8 uuid[16];
	char name[64];
	u64 vram;
	u64 reserve;
	u64 used;		/* bytes held by clients; nvsim_books_lock */
	u64 peak;		/* the most that used was; nvsim_books_lock */
	struct nvsim_engine *engine;
	struct dentry *debugfs;
};

extern struct nvsim_gpu nvsim_gpus[NVSIM_MAX_GPUS];

struct nvsim_gpu *nvsim_gpu_by_id(u32 gpu_id);
struct nvsim_gpu *nvsim_gpu_by_uuid(const u8 uuid[16]);
/* "GPU-xxxxxxxx-xxxx-..." into buf; its length with the closing NUL is returned. */
size_t nvsim_gpu_uuid_string(const struct nvsim_gpu *gpu, char *buf, size_t size);
#define NVSIM_UUID_STRING_SIZE	41

/*
 * F2 (nv_is_gpu_accessible, 535 kernel-open/nvidia/nv.c): some descriptor of the calling process is
 * an open GPU file of this GPU. NV01_DEVICE_0 and UVM_REGISTER_GPU ask it.
 */
bool nvsim_gpu_accessible(const struct nvsim_gpu *gpu);

/* ---- Open files (chrdev.c) ---- */

struct nvsim_mmap_context;	/* mmap.c */

/* private_data of an open nvidiactl or nvidiaN; the file's f_op may belong to another module. */
struct nvsim_file {
	struct nvsim_gpu *gpu;			/* NULL for nvidiactl */
	struct address_space mapping;		/* f_mapping of a GPU file, its own */
	wait_queue_head_t wait;
	spinlock_t event_lock;			/* events_pending */
	unsigned int events_pending;		/* poll() has something to say */
	struct file *ctl;			/* REGISTER_FD, one reference; nvsim_rm_lock */
	bool gpus_attached;			/* ATTACH_GPUS_TO_FD was said; nvsim_rm_lock */
	struct list_head clients;		/* made through this nvidiactl; nvsim_rm_lock */
	struct nvsim_mem *exported;		/* memory that an export put in it; nvsim_rm_lock */
	u32 exported_class;
	spinlock_t mmap_lock;			/* mmap_context */
	struct nvsim_mmap_context *mmap_context; /* at most one; mmap.c owns it */
};

/*
 * F1 (nv_get_file_private): judges by the major and minor of the inode alone, never by f_op. The
 * reference on the file is the caller's to fput(); NULL when fd is not such a file.
 */
struct file *nvsim_fget(int fd, bool ctl);
static inline struct nvsim_file *nvsim_file(struct file *file)
{
	return file->private_data;
}

/* Wakes poll() on a file: an OS event was signalled. */
void nvsim_file_signal(struct nvsim_file *nvf);

/* ---- Memory objects and the books (mem.c, books.c) ---- */

/* One line of the books: what a client holds of a GPU under one class. Outlives the client. */
struct nvsim_account {
	struct list_head link;		/* nvsim_books_lock */
	struct nvsim_gpu *gpu;
	struct pid *pid;		/* tgid of who made the client */
	u32 client;
	u32 class;
	u64 objects;
	u64 bytes;
};

enum nvsim_where {
	NVSIM_MEM_DEVICE,		/* in the books, mapped through a GPU file */
	NVSIM_MEM_SYSTEM,		/* mapped through nvidiactl */
	NVSIM_MEM_USER,			/* OS descriptor: pages of a process, pinned */
};

/*
 * Memory that handles, mappings and GPU page tables share; given back with the last reference.
 * Pages come into being when they are first touched: a big simulated GPU costs what is used of it.
 */
struct nvsim_mem {
	struct kref ref;		/* who holds it allocated */
	struct kref kept;		/* who needs the pages: all of the above, and others */
	enum nvsim_where where;
	bool read_only;			/* NVSIM_MEM_USER that was pinned for reading */
	struct nvsim_gpu *gpu;
	u64 size;			/* as booked, multiple of PAGE_SIZE */
	u64 offset;			/* "physical" offset that the driver reports */
	u32 attr;
	u32 attr2;
	struct nvsim_account *account;	/* NVSIM_MEM_DEVICE */
	struct mutex lock;
	struct xarray pages;		/* index -> struct page; entries stay until release */
};

struct nvsim_client;

/* On success *mem holds one reference. NV_ERR_NO_MEMORY when the GPU is full. */
u32 nvsim_mem_create(struct nvsim_client *client, struct nvsim_gpu *gpu, enum nvsim_where where,
		     u32 class, u64 size, struct nvsim_mem **mem);
void nvsim_mem_get(struct nvsim_mem *mem);
void nvsim_mem_put(struct nvsim_mem *mem);	/* any context that may sleep; mmap_lock is fine */

/*
 * Keeps the pages and nothing else: memory with no reference left is free in the books, as a CPU's
 * mapping of it, or a copy under way, keeps no device memory allocated on a real GPU.
 */
void nvsim_mem_keep(struct nvsim_mem *mem);
void nvsim_mem_unkeep(struct nvsim_mem *mem);

/*
 * The page at index, which stays in place until the last nvsim_mem_put(). With write a missing one
 * is made (zeroed), and NULL means that the machine is out of memory or that the memory must not be
 * written; without, NULL reads as zeros.
 */
struct page *nvsim_mem_page(struct nvsim_mem *mem, pgoff_t index, bool write);

/* ---- Clients and objects (object.c) ---- */

struct nvsim_client {
	u32 handle;
	struct nvsim_file *owner;	/* the nvidiactl file that made it: F5 */
	struct list_head owner_link;
	struct pid *pid;		/* tgid of who made it: F6 */
	kuid_t euid;			/* of who made it */
	u32 shared;			/* who may duplicate its objects: BIT(RS_SHARE_TYPE_*) */
	u32 shared_with;		/* client, for RS_SHARE_TYPE_CLIENT */
	struct xarray objects;		/* handle -> struct nvsim_object */
	u32 next_handle;		/* generated ones, 0xcaf00001 and up */
	struct nvsim_object *root;
};

struct nvsim_object {
	u32 handle;
	u32 class;
	const struct nvsim_class *ops;
	struct nvsim_client *client;
	struct nvsim_object *parent;	/* NULL for the root */
	struct list_head sibling;	/* in parent->children, newest first: so they are freed */
	struct list_head children;
	struct list_head uses;		/* struct nvsim_dep: what must outlive this object */
	struct list_head used_by;	/* struct nvsim_dep: what is freed before this object */
	struct hlist_head dma_maps;	/* of a memory object: where RM_MAP_MEMORY_DMA mapped it */
	struct nvsim_gpu *gpu;		/* NULL above a device */
	struct nvsim_mem *mem;		/* of a memory object; one reference */
	struct nvsim_mem *implicit;	/* device memory that no ioctl names; one reference */
	u32 shared;			/* as in the client, for this object */
	u32 shared_with;
	void *data;			/* of the class */
};

extern struct mutex nvsim_rm_lock;

/* All of these under nvsim_rm_lock. */
struct nvsim_client *nvsim_client_find(u32 client);
struct nvsim_object *nvsim_object_find(struct nvsim_client *client, u32 handle);
/* Both steps without a caller to check (UVM acts as the kernel). */
struct nvsim_object *nvsim_object_lookup(u32 client, u32 handle);
/* obj is freed before "on" is; NV_ERR_NO_MEMORY when that cannot be recorded. */
u32 nvsim_object_depend(struct nvsim_object *obj, struct nvsim_object *on);
/* Frees what hangs below obj and what depends on it, then obj. */
void nvsim_object_free(struct nvsim_object *obj);
/* The nearest ancestor (or obj itself) of a class, or NULL. */
struct nvsim_object *nvsim_object_above(struct nvsim_object *obj, u32 class);

/* One allocation on its way; params is a kernel copy that goes back to the caller on success. */
struct nvsim_alloc {
	struct nvsim_file *file;	/* caller */
	struct nvsim_object *obj;	/* new: handle, class, client, parent and gpu are set */
	void *params;
	u32 params_size;
};

enum nvsim_implicit { NVSIM_TAKES_NOTHING, NVSIM_TAKES_CHANNEL, NVSIM_TAKES_CONTEXT };

/* Which parents a class accepts, as bits; ANY is any of these, never a leaf of the tree. */
#define NVSIM_UNDER_ROOT	BIT(0)
#define NVSIM_UNDER_DEVICE	BIT(1)
#define NVSIM_UNDER_SUBDEVICE	BIT(2)
#define NVSIM_UNDER_GROUP	BIT(3)
#define NVSIM_UNDER_CHANNEL	BIT(4)
#define NVSIM_UNDER_ENGINE	BIT(5)
#define NVSIM_UNDER_ANY		GENMASK(5, 0)

struct nvsim_class {
	u32 id;
	u16 params_size;		/* 535: the caller passes paramsSize 0 and RM knows */
	bool params_required;
	u8 parents;
	enum nvsim_implicit takes;
	u8 needs[3];			/* words of params, plus one, with what must outlive it */
	u32 (*alloc)(struct nvsim_alloc *a);		/* RM status; may be NULL */
	void (*free)(struct nvsim_object *obj);		/* may be NULL */
};

const struct nvsim_class *nvsim_class_find(u32 id);

/* ---- Controls (control.c) ---- */

struct nvsim_control_call {
	struct nvsim_file *file;
	struct nvsim_object *obj;
	u32 cmd;
	void *params;			/* kernel copy, goes back to the caller */
	u32 params_size;
	void *list[3];			/* kernel copies of what pointers in params refer to */
	u32 list_size[3];
};

/* A user pointer inside the parameters, as RM's embedded parameter copy knows them. */
struct nvsim_embedded {
	u16 ptr_at;
	u16 count_at;			/* u32 with the number of elements */
	u16 elem_size;			/* 0: no such pointer */
	bool copy_in;
	u32 max;			/* elements */
};

struct nvsim_words {			/* constant reply: value at a byte offset */
	u16 at;
	u32 value;
};

struct nvsim_control {
	u32 cmd;
	u32 params_size;
	u32 status;			/* answered when there is no handler */
	u32 (*handler)(struct nvsim_control_call *call);	/* with nvsim_rm_lock held */
	const struct nvsim_words *words;
	u32 nr_words;
	struct nvsim_embedded embedded[3];
};

struct nvsim_control_table {
	const struct nvsim_control *rows;
	unsigned int nr;
};

/* ---- What the other half provides: engine.c pushbuf.c mmap.c uvm.c vas.c ---- */

int nvsim_engine_start(struct nvsim_gpu *gpu);
void nvsim_engine_stop(struct nvsim_gpu *gpu);

/* 0xa06c.... 0xc36f.... 0x906f.... and whatever else concerns channels and groups. */
extern const struct nvsim_control_table nvsim_engine_controls;

/* Class hooks; the core has checked parent, handle and parameter size. */
void nvsim_device_free(struct nvsim_object *obj);	/* NV01_DEVICE_0: the space of its own */
u32 nvsim_vaspace_alloc(struct nvsim_alloc *a);		/* FERMI_VASPACE_A */
void nvsim_vaspace_free(struct nvsim_object *obj);
u32 nvsim_virtual_alloc(struct nvsim_alloc *a);		/* NV01_MEMORY_VIRTUAL: to map into */
void nvsim_virtual_free(struct nvsim_object *obj);
u32 nvsim_group_alloc(struct nvsim_alloc *a);		/* KEPLER_CHANNEL_GROUP_A */
void nvsim_group_free(struct nvsim_object *obj);
u32 nvsim_ctxshare_alloc(struct nvsim_alloc *a);	/* FERMI_CONTEXT_SHARE_A */
void nvsim_ctxshare_free(struct nvsim_object *obj);
u32 nvsim_channel_alloc(struct nvsim_alloc *a);		/* AMPERE_CHANNEL_GPFIFO_A */
void nvsim_channel_free(struct nvsim_object *obj);
u32 nvsim_engobj_alloc(struct nvsim_alloc *a);		/* compute and copy objects of a channel */
void nvsim_engobj_free(struct nvsim_object *obj);
u32 nvsim_usermode_alloc(struct nvsim_alloc *a);	/* TURING_USERMODE_A: the doorbell page */
void nvsim_usermode_free(struct nvsim_object *obj);

/*
 * NV50_MEMORY_VIRTUAL, i.e. VID_HEAP or RM_ALLOC with NVOS32_ALLOC_FLAGS_VIRTUAL: reserves GPU
 * addresses in p->hVASpace (0: the device's own); fills p->offset and p->limit.
 */
u32 nvsim_reserve_alloc(struct nvsim_alloc *a);
void nvsim_reserve_free(struct nvsim_object *obj);

/* A memory object's handle goes: whatever RM_MAP_MEMORY_DMA mapped of it under this handle too. */
void nvsim_memory_freed(struct nvsim_object *memory);

/* RM_MAP_MEMORY after F1, F5 and F6: target gets the mmap context (one per file). */
u32 nvsim_map_memory(struct nvsim_file *caller, struct nvsim_object *memory,
		     struct nvsim_file *target, u64 offset, u64 length, u32 flags);
u32 nvsim_unmap_memory(struct nvsim_file *caller, struct nvsim_object *memory, u64 address);
/* RM_MAP_MEMORY_DMA: dma is a virtual memory object or a reservation. */
u32 nvsim_map_dma(struct nvsim_object *dma, struct nvsim_object *memory, u64 offset, u64 length,
		  u32 flags, u64 *dma_offset);
u32 nvsim_unmap_dma(struct nvsim_object *dma, struct nvsim_object *memory, u32 flags,
		    u64 dma_offset);

int nvsim_mmap(struct file *file, struct vm_area_struct *vma);
void nvsim_mmap_release(struct nvsim_file *nvf);	/* the file goes away */

/* The nvidia-uvm character device: registers and removes its own dynamic major. */
int nvsim_uvm_init(struct class *class);
void nvsim_uvm_exit(void);

/* ---- The core's own parts ---- */

/*
 * The engine says what was busy for whom, in ktime_get_ns() time, in pieces and as it goes; usage.c
 * makes utilisation of it. Process context.
 */
void nvsim_usage_busy(struct nvsim_gpu *gpu, struct pid *pid, u64 start_ns, u64 end_ns);

int nvsim_chrdev_init(void);
void nvsim_chrdev_exit(void);
extern struct class *nvsim_device_class;

int nvsim_gpus_init(void);
void nvsim_gpus_exit(void);

void nvsim_debugfs_init(void);
void nvsim_debugfs_exit(void);
int nvsim_proc_init(void);
void nvsim_proc_exit(void);

long nvsim_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif
