/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine of a GPU: channels, the groups they are scheduled in, and the work they carry out.
 *
 * engine->lock covers everything here. It is taken under nvsim_rm_lock (class and control hooks)
 * and from the engine's own work item, and held while a channel makes a step, so that a channel
 * that is off engine->channels is touched by nobody. Locks of VA spaces and of memory are taken
 * below it.
 */
#ifndef NVSIM_ENGINE_H
#define NVSIM_ENGINE_H

#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/ktime.h>
#include <linux/workqueue.h>

#include "vas.h"

#define NVSIM_SUBCHANNELS	8
#define NVSIM_QMD_WORDS		64
#define NVSIM_PB_BUFFER		128	/* words fetched at a time */
#define NVSIM_MAX_CHIDS		2048	/* channels of a runlist, Ampere */

struct nvsim_engine {
	struct nvsim_gpu *gpu;
	struct mutex lock;			/* what follows, channels and groups */
	struct workqueue_struct *wq;
	struct work_struct work;
	struct hrtimer timer;			/* when something happens by itself */
	struct list_head channels;
	struct ida chids;
	struct ida group_ids;

	/* The compute engine: groups that have a launch, in turn; the first one runs. */
	struct list_head runlist;
	struct nvsim_group *running;		/* since run_since, or NULL */
	ktime_t run_since;
	ktime_t slice_end;

	u64 retry_ns;				/* until stalled semaphores are looked at again */
	u8 *bounce[2];				/* a page each, for copies that rearrange */
};

/* KEPLER_CHANNEL_GROUP_A */
struct nvsim_group {
	struct nvsim_engine *engine;
	struct nvsim_vas *vas;			/* NULL: channels say; one reference */
	u32 id;
	u32 engine_type;
	u64 timeslice_us;
	bool enabled;
	struct list_head in_runlist;		/* empty when no launch waits or runs */
	struct list_head launches;		/* nvsim_channel.in_launches, the first one runs */
};

enum nvsim_channel_state {
	NVSIM_CH_RUN,		/* fetches and executes */
	NVSIM_CH_ACQUIRE,	/* waits for a semaphore */
	NVSIM_CH_COPY,		/* in the middle of a copy */
	NVSIM_CH_LAUNCH,	/* a launch of its own waits or runs */
	NVSIM_CH_FAULTED,	/* dead: it touched what is not mapped, or sent nonsense */
};

/* Host semaphore methods */
struct nvsim_host_regs {
	u64 address;
	u64 payload;
	u32 execute;
	/* the older four, SEMAPHOREA to D */
	u64 old_address;
	u32 old_payload;
};

/* The copy class */
struct nvsim_copy_regs {
	u64 in, out;
	u32 pitch_in, pitch_out;
	u32 line_length, line_count;
	u32 remap_const[2];
	u32 remap_components;
	u64 semaphore;
	u64 payload;
	u32 launch;
	/* how far a copy has come */
	u32 line;
	u32 done;
};

/* Inline to memory, part of the compute class and a class of its own */
struct nvsim_inline_regs {
	u64 out;
	u32 pitch_out;
	u32 line_length, line_count;
	u64 semaphore;
	u32 payload;
	u32 launch;
	u32 line;
	u32 done;
};

struct nvsim_compute_regs {
	u64 report;
	u32 report_payload;
	u64 qmd_address;
	u32 qmd[NVSIM_QMD_WORDS];
};

/* AMPERE_CHANNEL_GPFIFO_A */
struct nvsim_channel {
	struct nvsim_engine *engine;
	struct nvsim_group *group;
	struct list_head in_engine;
	struct nvsim_vas *vas;			/* one reference */
	u32 client;				/* handle: whose doorbells it listens to */
	struct pid *pid;			/* whose busy time it is; one reference */
	u32 chid;
	struct nvsim_mem *userd;		/* one reference */
	u64 userd_offset;
	struct nvsim_mem *notifier;		/* error notifier or NULL; one reference */
	u64 gpfifo;
	u32 entries;
	u32 get, put;

	bool rung;				/* a doorbell was written, GPPut not yet read */
	bool enabled;				/* by itself, not through its group */
	bool disabled;				/* FIFO_DISABLE_CHANNELS */
	enum nvsim_channel_state state;

	/* push buffer segment and method run being executed */
	u64 pb;
	u32 pb_left;				/* words not yet fetched */
	u32 buf[NVSIM_PB_BUFFER];
	u32 buf_at, buf_len;
	u32 method, subchannel, count, step;

	u32 class[NVSIM_SUBCHANNELS];
	struct nvsim_host_regs host;
	struct nvsim_copy_regs copy;
	struct nvsim_inline_regs i2m;
	struct nvsim_compute_regs compute;

	struct list_head in_launches;
	s64 launch_left;			/* ns */
};

enum nvsim_step {
	NVSIM_STEP_IDLE,	/* nothing to do until a doorbell, a control or a timer */
	NVSIM_STEP_STALLED,	/* waits for a semaphore that may change at any time */
	NVSIM_STEP_MORE,	/* has more to do right now */
};

/* pushbuf.c: carries out a bounded piece of a channel's work */
enum nvsim_step nvsim_channel_step(struct nvsim_channel *ch);
void nvsim_channel_fault(struct nvsim_channel *ch, const char *what, u64 address);

/* semaphore.c */

/* What a release writes: a word or two, or four of them with the time in the last two. */
int nvsim_release(struct nvsim_channel *ch, u64 address, u64 payload, bool wide, bool timestamp);
/* Read, combine, write; op as in NVC56F_SEM_EXECUTE_REDUCTION. */
int nvsim_reduce(struct nvsim_channel *ch, u64 address, u64 payload, bool wide, unsigned int op,
		 bool is_unsigned);

void nvsim_sem_execute(struct nvsim_channel *ch, u32 execute);
void nvsim_old_semaphore(struct nvsim_channel *ch, u32 data);
/* True when the semaphore that the channel waits for has been passed. */
bool nvsim_try_acquire(struct nvsim_channel *ch);

/* copy.c: true when the copy is done, its semaphore included */
bool nvsim_copy_step(struct nvsim_channel *ch);

/* launch.c */
void nvsim_launch(struct nvsim_channel *ch, u64 qmd_address);
void nvsim_launch_drop(struct nvsim_channel *ch);	/* the channel goes */
void nvsim_group_set_enabled(struct nvsim_group *group, bool enabled);
void nvsim_group_yield(struct nvsim_group *group);
/* Ends the launches whose time is over. */
void nvsim_compute_finish(struct nvsim_engine *engine);
/* Decides who runs; when both must be called again, KTIME_MAX for never by itself. */
ktime_t nvsim_compute_pick(struct nvsim_engine *engine);

/* engine.c */
void nvsim_engine_kick(struct nvsim_engine *engine);
/* A doorbell of that client was written: its channels look for work. Sleeps. */
void nvsim_engine_ring(struct nvsim_engine *engine, u32 client);
/* No channel of that address space runs any more. */
void nvsim_engine_stop_space(struct nvsim_engine *engine, struct nvsim_vas *vas);

u64 nvsim_gpu_time_ns(void);

#endif
