// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine of a GPU runs as a work item: when a doorbell was written, when a launch or a time
 * slice ends, and while a channel has something to do or waits for a semaphore. An idle GPU has no
 * timer and looks at nothing.
 */
#include <linux/slab.h>

#include "engine.h"

/* A stalled channel's semaphore may be written by a CPU, which nobody tells us. */
#define NVSIM_RETRY_MIN_NS	(20 * NSEC_PER_USEC)
#define NVSIM_RETRY_MAX_NS	(2 * NSEC_PER_MSEC)

void nvsim_engine_kick(struct nvsim_engine *e)
{
	queue_work(e->wq, &e->work);
}

static enum hrtimer_restart nvsim_engine_timer(struct hrtimer *timer)
{
	nvsim_engine_kick(container_of(timer, struct nvsim_engine, timer));
	return HRTIMER_NORESTART;
}

static void nvsim_engine_work(struct work_struct *work)
{
	struct nvsim_engine *e = container_of(work, struct nvsim_engine, work);
	bool more = false, stalled = false;
	struct nvsim_channel *ch;
	ktime_t next;

	mutex_lock(&e->lock);
	nvsim_compute_finish(e);
	list_for_each_entry(ch, &e->channels, in_engine) {
		switch (nvsim_channel_step(ch)) {
		case NVSIM_STEP_MORE:
			more = true;
			break;
		case NVSIM_STEP_STALLED:
			stalled = true;
			break;
		case NVSIM_STEP_IDLE:
			break;
		}
	}
	next = nvsim_compute_pick(e);

	if (!stalled || more)
		e->retry_ns = NVSIM_RETRY_MIN_NS;
	if (more) {
		nvsim_engine_kick(e);
	} else if (stalled) {
		next = min_t(ktime_t, next, ktime_add_ns(ktime_get(), e->retry_ns));
		e->retry_ns = min_t(u64, 2 * e->retry_ns, NVSIM_RETRY_MAX_NS);
	}
	if (next != KTIME_MAX)
		hrtimer_start(&e->timer, next, HRTIMER_MODE_ABS);
	mutex_unlock(&e->lock);
}

void nvsim_engine_ring(struct nvsim_engine *e, u32 client)
{
	struct nvsim_channel *ch;

	mutex_lock(&e->lock);
	list_for_each_entry(ch, &e->channels, in_engine)
		if (ch->client == client)
			ch->rung = true;
	mutex_unlock(&e->lock);
	nvsim_engine_kick(e);
}

void nvsim_engine_stop_space(struct nvsim_engine *e, struct nvsim_vas *vas)
{
	struct nvsim_channel *ch;

	mutex_lock(&e->lock);
	list_for_each_entry(ch, &e->channels, in_engine)
		if (ch->vas == vas)
			ch->disabled = true;
	mutex_unlock(&e->lock);
	nvsim_engine_kick(e);
}

static void nvsim_engine_free(struct nvsim_engine *e)
{
	free_page((unsigned long)e->bounce[0]);
	free_page((unsigned long)e->bounce[1]);
	kfree(e);
}

int nvsim_engine_start(struct nvsim_gpu *gpu)
{
	struct nvsim_engine *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return -ENOMEM;
	e->gpu = gpu;
	mutex_init(&e->lock);
	INIT_LIST_HEAD(&e->channels);
	INIT_LIST_HEAD(&e->runlist);
	ida_init(&e->chids);
	ida_init(&e->group_ids);
	INIT_WORK(&e->work, nvsim_engine_work);
	hrtimer_init(&e->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	e->timer.function = nvsim_engine_timer;
	e->bounce[0] = (u8 *)__get_free_page(GFP_KERNEL);
	e->bounce[1] = (u8 *)__get_free_page(GFP_KERNEL);
	e->wq = alloc_ordered_workqueue("nvsim-gpu%u", 0, gpu->index);
	if (!e->bounce[0] || !e->bounce[1] || !e->wq) {
		if (e->wq)
			destroy_workqueue(e->wq);
		nvsim_engine_free(e);
		return -ENOMEM;
	}
	gpu->engine = e;
	return 0;
}

/* No file is open any more, so no channel is left and nothing kicks the engine. */
void nvsim_engine_stop(struct nvsim_gpu *gpu)
{
	struct nvsim_engine *e = gpu->engine;

	WARN_ON(!list_empty(&e->channels));
	hrtimer_cancel(&e->timer);
	destroy_workqueue(e->wq);
	ida_destroy(&e->chids);
	ida_destroy(&e->group_ids);
	nvsim_engine_free(e);
	gpu->engine = NULL;
}
