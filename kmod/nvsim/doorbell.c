// SPDX-License-Identifier: GPL-2.0-only
/*
 * Doorbells: the page of a usermode object whose word at +0x90 tells the engine of new work.
 *
 * A store into memory traps nowhere, so the page is there only while it is watched. The first touch
 * faults; the fault puts the page in and starts a timer that swaps the word for a value no token
 * has. A word that had changed means that something was written, whatever it was: the engine then
 * looks at all channels of the client, so a token that another overwrote loses nothing. After some
 * quiet the page is taken away again, and what was stored before it went is looked for once more.
 */
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "doorbell.h"
#include "engine.h"

#define NOTIFY_CHANNEL_PENDING	0x90		/* clc361.h, in the first page */
#define NVSIM_NO_TOKEN		U32_MAX

/* The watch slows down as nothing comes and ends after the quiet time. */
#define NVSIM_WATCH_MIN_NS	(50 * NSEC_PER_USEC)
#define NVSIM_WATCH_MAX_NS	(400 * NSEC_PER_USEC)
#define NVSIM_QUIET_NS		(4 * NSEC_PER_MSEC)

struct nvsim_doorbell {
	struct nvsim_engine *engine;
	u32 client;
	struct address_space *mapping;
	struct page *page;			/* with the word */
	struct page *rest;			/* what the other pages show */
	struct mutex lock;			/* page in and watched, or neither */
	bool watched;
	struct hrtimer timer;
	u64 period_ns;
	u64 quiet_ns;
	struct work_struct ring;
	struct work_struct leave;
};

static bool nvsim_doorbell_take(struct nvsim_doorbell *db)
{
	u32 *word = page_address(db->page) + NOTIFY_CHANNEL_PENDING;

	return xchg(word, NVSIM_NO_TOKEN) != NVSIM_NO_TOKEN;
}

static void nvsim_doorbell_ring(struct work_struct *work)
{
	struct nvsim_doorbell *db = container_of(work, struct nvsim_doorbell, ring);

	nvsim_engine_ring(db->engine, db->client);
}

static enum hrtimer_restart nvsim_doorbell_timer(struct hrtimer *timer)
{
	struct nvsim_doorbell *db = container_of(timer, struct nvsim_doorbell, timer);

	if (nvsim_doorbell_take(db)) {
		queue_work(db->engine->wq, &db->ring);
		db->period_ns = NVSIM_WATCH_MIN_NS;
		db->quiet_ns = 0;
	} else {
		db->quiet_ns += db->period_ns;
		if (db->quiet_ns >= NVSIM_QUIET_NS) {
			queue_work(system_wq, &db->leave);
			return HRTIMER_NORESTART;
		}
		db->period_ns = min_t(u64, 2 * db->period_ns, NVSIM_WATCH_MAX_NS);
	}
	hrtimer_forward_now(timer, ns_to_ktime(db->period_ns));
	return HRTIMER_RESTART;
}

static void nvsim_doorbell_watch(struct nvsim_doorbell *db)
{
	lockdep_assert_held(&db->lock);
	if (db->watched)
		return;
	db->watched = true;
	db->period_ns = NVSIM_WATCH_MIN_NS;
	db->quiet_ns = 0;
	hrtimer_start(&db->timer, ns_to_ktime(db->period_ns), HRTIMER_MODE_REL);
}

static void nvsim_doorbell_leave(struct work_struct *work)
{
	struct nvsim_doorbell *db = container_of(work, struct nvsim_doorbell, leave);

	mutex_lock(&db->lock);
	unmap_mapping_range(db->mapping, 0, PAGE_SIZE, 1);
	db->watched = false;
	if (nvsim_doorbell_take(db))
		queue_work(db->engine->wq, &db->ring);
	mutex_unlock(&db->lock);
}

vm_fault_t nvsim_doorbell_fault(struct nvsim_doorbell *db, struct vm_fault *vmf)
{
	vm_fault_t ret;

	if (vmf->pgoff)
		return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(db->rest));

	/* The page must not come in after a watch that began before it has already ended. */
	mutex_lock(&db->lock);
	nvsim_doorbell_watch(db);
	ret = vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(db->page));
	mutex_unlock(&db->lock);
	return ret;
}

static void nvsim_doorbell_free(struct nvsim_doorbell *db)
{
	if (db->page)
		__free_page(db->page);
	if (db->rest)
		__free_page(db->rest);
	kfree(db);
}

struct nvsim_doorbell *nvsim_doorbell_create(struct nvsim_engine *engine, u32 client,
					     struct address_space *mapping)
{
	struct nvsim_doorbell *db = kzalloc(sizeof(*db), GFP_KERNEL_ACCOUNT);

	if (!db)
		return NULL;
	db->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	db->rest = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!db->page || !db->rest) {
		nvsim_doorbell_free(db);
		return NULL;
	}
	nvsim_doorbell_take(db);
	db->engine = engine;
	db->client = client;
	db->mapping = mapping;
	mutex_init(&db->lock);
	hrtimer_init(&db->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	db->timer.function = nvsim_doorbell_timer;
	INIT_WORK(&db->ring, nvsim_doorbell_ring);
	INIT_WORK(&db->leave, nvsim_doorbell_leave);
	return db;
}

/* The timer first, as it queues the others. No look is left out: the client may live on. */
void nvsim_doorbell_destroy(struct nvsim_doorbell *db)
{
	hrtimer_cancel(&db->timer);
	flush_work(&db->leave);
	flush_work(&db->ring);
	if (nvsim_doorbell_take(db))
		nvsim_engine_ring(db->engine, db->client);
	nvsim_doorbell_free(db);
}
