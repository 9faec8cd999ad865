// SPDX-License-Identifier: GPL-2.0-only
/* A ring of time slots per GPU, the busy time in each. It moves when somebody looks or works. */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "usage.h"

struct nvsim_usage {
	spinlock_t lock;	/* all of it */
	u64 slot;	/* number of the newest slot: time / NVSIM_USAGE_BUCKET_NS */
	struct nvsim_usage_sample ring[NVSIM_USAGE_BUCKETS];
};

static struct nvsim_usage nvsim_usages[NVSIM_MAX_GPUS] = {
	[0 ... NVSIM_MAX_GPUS - 1] = { .lock = __SPIN_LOCK_UNLOCKED(nvsim_usages.lock) },
};

static struct nvsim_usage_sample *nvsim_usage_slot(struct nvsim_usage *usage, u64 slot)
{
	u32 index;

	div_u64_rem(slot, NVSIM_USAGE_BUCKETS, &index);
	return &usage->ring[index];
}

/* Empties the slots between the newest one and that of now. */
static void nvsim_usage_advance(struct nvsim_usage *usage, u64 now)
{
	u64 slot = div_u64(now, NVSIM_USAGE_BUCKET_NS);

	if (slot <= usage->slot)
		return;
	if (slot - usage->slot > NVSIM_USAGE_BUCKETS)
		usage->slot = slot - NVSIM_USAGE_BUCKETS;
	while (usage->slot < slot) {
		struct nvsim_usage_sample *sample = nvsim_usage_slot(usage, ++usage->slot);

		put_pid(sample->pid);
		sample->pid = NULL;
		sample->busy_ns = 0;
		sample->start_ns = usage->slot * NVSIM_USAGE_BUCKET_NS;
	}
}

void nvsim_usage_busy(struct nvsim_gpu *gpu, struct pid *pid, u64 start_ns, u64 end_ns)
{
	struct nvsim_usage *usage = &nvsim_usages[gpu->index];
	u64 oldest;

	spin_lock(&usage->lock);
	nvsim_usage_advance(usage, end_ns);
	oldest = usage->slot >= NVSIM_USAGE_BUCKETS ? usage->slot - NVSIM_USAGE_BUCKETS + 1 : 0;
	start_ns = max(start_ns, oldest * NVSIM_USAGE_BUCKET_NS);
	while (start_ns < end_ns) {
		u64 slot = div_u64(start_ns, NVSIM_USAGE_BUCKET_NS);
		u64 until = min(end_ns, (slot + 1) * NVSIM_USAGE_BUCKET_NS);
		struct nvsim_usage_sample *sample = nvsim_usage_slot(usage, slot);

		sample->busy_ns = min_t(u64, sample->busy_ns + until - start_ns,
					NVSIM_USAGE_BUCKET_NS);
		if (sample->pid != pid) {
			put_pid(sample->pid);
			sample->pid = get_pid(pid);
		}
		start_ns = until;
	}
	spin_unlock(&usage->lock);
}

void nvsim_usage_samples(struct nvsim_gpu *gpu, struct nvsim_usage_sample *samples)
{
	struct nvsim_usage *usage = &nvsim_usages[gpu->index];
	unsigned int i;

	spin_lock(&usage->lock);
	nvsim_usage_advance(usage, ktime_get_ns());
	for (i = 0; i < NVSIM_USAGE_BUCKETS; i++) {
		samples[i] = *nvsim_usage_slot(usage, usage->slot + 1 + i);
		get_pid(samples[i].pid);
	}
	spin_unlock(&usage->lock);
}

unsigned int nvsim_usage_percent(struct nvsim_gpu *gpu)
{
	const unsigned int slots = NSEC_PER_SEC / NVSIM_USAGE_BUCKET_NS;
	struct nvsim_usage *usage = &nvsim_usages[gpu->index];
	u64 busy = 0;
	unsigned int i;

	spin_lock(&usage->lock);
	nvsim_usage_advance(usage, ktime_get_ns());
	/* The newest slot is not over yet: the ones before it are the last second. */
	for (i = 1; i <= slots && i <= usage->slot; i++)
		busy += nvsim_usage_slot(usage, usage->slot - i)->busy_ns;
	spin_unlock(&usage->lock);
	return div_u64(busy * 100, NSEC_PER_SEC);
}

void nvsim_usage_exit(struct nvsim_gpu *gpu)
{
	struct nvsim_usage *usage = &nvsim_usages[gpu->index];
	unsigned int i;

	for (i = 0; i < NVSIM_USAGE_BUCKETS; i++) {
		put_pid(usage->ring[i].pid);
		usage->ring[i].pid = NULL;
	}
}
