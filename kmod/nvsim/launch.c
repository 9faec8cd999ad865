// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches on the compute engine. A simulated kernel computes nothing: it takes time, then releases
 * the semaphores that its descriptor names.
 *
 * Groups share the engine as TSGs share a GPU's: one runs at a time, for its time slice at most
 * while another waits. Launches of one group run one after the other.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include "engine.h"

/* QMD V03.00, words of 32 bits */
#define QMD_RASTER_WIDTH(q)		((q)[12])
#define QMD_RASTER_HEIGHT(q)		((q)[13] & 0xffff)
#define QMD_RASTER_DEPTH(q)		((q)[14] & 0xffff)
#define QMD_DEPENDENT(q)		((u64)(q)[15] << 8)
#define QMD_DEPENDENT_ENABLE(q)		((q)[16] & BIT(0))
#define QMD_RELEASE_ADDRESS(q, i)	((u64)((q)[25 + 4 * (i)] & 0xff) << 32 | (q)[24 + 4 * (i)])
#define QMD_RELEASE_ENABLE(q, i)	((q)[25 + 4 * (i)] & BIT(23))
#define QMD_RELEASE_WIDE(q, i)		((q)[25 + 4 * (i)] & BIT(29))
#define QMD_RELEASE_SIZE(q, i)		((q)[25 + 4 * (i)] >> 30)
#define QMD_RELEASE_PAYLOAD(q, i)	((u64)(q)[27 + 4 * (i)] << 32 | (q)[26 + 4 * (i)])
#define QMD_RELEASES			2

/* Long launches are told of in pieces, so that utilisation shows them while they run. */
#define NVSIM_ACCOUNT_NS		(100 * NSEC_PER_MSEC)

/* Descriptors of no time that depend on each other in a circle must not hold the engine. */
#define NVSIM_FINISH_AT_ONCE		64

enum { RELEASE_FOUR_WORDS, RELEASE_ONE_WORD, RELEASE_TWO_WORDS };

static s64 nvsim_launch_ns(const u32 *qmd)
{
	u64 blocks, ns;

	blocks = (u64)QMD_RASTER_WIDTH(qmd) * max(QMD_RASTER_HEIGHT(qmd), 1U);
	if (check_mul_overflow(blocks, (u64)max(QMD_RASTER_DEPTH(qmd), 1U), &blocks) ||
	    check_mul_overflow(blocks, nvsim_block_ns(), &ns))
		return S64_MAX;
	return min_t(u64, ns, S64_MAX);
}

static void nvsim_launch_release(struct nvsim_channel *ch)
{
	const u32 *q = ch->compute.qmd;
	unsigned int i, size;

	for (i = 0; i < QMD_RELEASES && ch->state != NVSIM_CH_FAULTED; i++) {
		if (!QMD_RELEASE_ENABLE(q, i))
			continue;
		size = QMD_RELEASE_SIZE(q, i);
		nvsim_release(ch, QMD_RELEASE_ADDRESS(q, i), QMD_RELEASE_PAYLOAD(q, i),
			      size == RELEASE_TWO_WORDS || QMD_RELEASE_WIDE(q, i),
			      size == RELEASE_FOUR_WORDS);
	}
}

static struct nvsim_channel *nvsim_group_head(struct nvsim_group *group)
{
	return list_first_entry_or_null(&group->launches, struct nvsim_channel, in_launches);
}

static bool nvsim_group_runs(struct nvsim_group *group)
{
	struct nvsim_channel *ch = nvsim_group_head(group);

	return ch && !ch->disabled && (group->enabled || ch->enabled);
}

/* Takes what has run since the last look off the launch that ran. */
static void nvsim_compute_account(struct nvsim_engine *e, ktime_t now)
{
	struct nvsim_channel *ch;
	s64 ran;

	if (!e->running)
		return;
	ch = nvsim_group_head(e->running);
	if (ch) {
		ran = min_t(s64, ktime_to_ns(ktime_sub(now, e->run_since)), ch->launch_left);
		ch->launch_left -= ran;
		nvsim_usage_busy(e->gpu, ch->pid, ktime_to_ns(e->run_since),
				 ktime_to_ns(e->run_since) + ran);
	}
	e->run_since = now;
}

/*
 * e->running may be left without a launch here: its channels get the chance to add the next before
 * nvsim_compute_pick() looks at others, as they would on a GPU that has launches queued.
 */
static void nvsim_launch_off(struct nvsim_channel *ch)
{
	list_del_init(&ch->in_launches);
	if (list_empty(&ch->group->launches))
		list_del_init(&ch->group->in_runlist);
}

static void nvsim_group_queue(struct nvsim_group *group)
{
	struct nvsim_engine *e = group->engine;

	if (!list_empty(&group->in_runlist))
		return;
	if (e->running == group)
		list_add(&group->in_runlist, &e->runlist);
	else
		list_add_tail(&group->in_runlist, &e->runlist);
}

/* Reads the descriptor at address and queues it. One that takes no time is over at once. */
void nvsim_launch(struct nvsim_channel *ch, u64 address)
{
	u32 *qmd = ch->compute.qmd;

	if (nvsim_vas_read(ch->vas, address, qmd, sizeof(ch->compute.qmd))) {
		nvsim_channel_fault(ch, "QMD read", address);
		return;
	}
	ch->launch_left = nvsim_launch_ns(qmd);
	if (!ch->launch_left && !QMD_DEPENDENT_ENABLE(qmd)) {
		nvsim_launch_release(ch);
		return;
	}
	ch->state = NVSIM_CH_LAUNCH;
	list_add_tail(&ch->in_launches, &ch->group->launches);
	nvsim_group_queue(ch->group);
}

static void nvsim_launch_over(struct nvsim_channel *ch)
{
	const u32 *qmd = ch->compute.qmd;

	nvsim_launch_off(ch);
	ch->state = NVSIM_CH_RUN;
	nvsim_launch_release(ch);
	if (QMD_DEPENDENT_ENABLE(qmd) && ch->state != NVSIM_CH_FAULTED)
		nvsim_launch(ch, QMD_DEPENDENT(qmd));
}

void nvsim_launch_drop(struct nvsim_channel *ch)
{
	if (list_empty(&ch->in_launches))
		return;
	nvsim_compute_account(ch->engine, ktime_get());
	nvsim_launch_off(ch);
}

static struct nvsim_group *nvsim_next_group(struct nvsim_engine *e)
{
	struct nvsim_group *group;

	list_for_each_entry(group, &e->runlist, in_runlist)
		if (nvsim_group_runs(group))
			return group;
	return NULL;
}

static bool nvsim_others_wait(struct nvsim_engine *e)
{
	struct nvsim_group *group;

	list_for_each_entry(group, &e->runlist, in_runlist)
		if (group != e->running && nvsim_group_runs(group))
			return true;
	return false;
}

void nvsim_compute_finish(struct nvsim_engine *e)
{
	struct nvsim_channel *ch;
	unsigned int n;

	nvsim_compute_account(e, ktime_get());
	for (n = 0; n < NVSIM_FINISH_AT_ONCE && e->running; n++) {
		ch = nvsim_group_head(e->running);
		if (!ch || ch->launch_left)
			break;
		nvsim_launch_over(ch);
	}
}

ktime_t nvsim_compute_pick(struct nvsim_engine *e)
{
	ktime_t now = ktime_get(), next;

	nvsim_compute_account(e, now);
	if (e->running && (!nvsim_group_runs(e->running) ||
			   (ktime_compare(now, e->slice_end) >= 0 && nvsim_others_wait(e)))) {
		if (!list_empty(&e->running->in_runlist))
			list_move_tail(&e->running->in_runlist, &e->runlist);
		e->running = NULL;
	}
	if (!e->running) {
		e->running = nvsim_next_group(e);
		if (!e->running)
			return KTIME_MAX;
		e->run_since = now;
		e->slice_end = ktime_add_us(now, e->running->timeslice_us);
	}

	next = ktime_add_ns(now, min_t(s64, nvsim_group_head(e->running)->launch_left,
				       NVSIM_ACCOUNT_NS));
	return nvsim_others_wait(e) ? min_t(ktime_t, next, e->slice_end) : next;
}

void nvsim_group_set_enabled(struct nvsim_group *group, bool enabled)
{
	nvsim_compute_account(group->engine, ktime_get());
	group->enabled = enabled;
}

void nvsim_group_yield(struct nvsim_group *group)
{
	if (group->engine->running == group)
		group->engine->slice_end = ktime_get();
}
