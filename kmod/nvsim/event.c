// SPDX-License-Identifier: GPL-2.0-only
/* OS events: a client's key (a descriptor number) for the file that poll() will wake. */
#include <linux/slab.h>

#include "escape.h"

struct nvsim_os_event {
	struct list_head link;		/* nvsim_os_events */
	struct nvsim_file *file;
	u32 client;
	u32 fd;				/* a number only, never looked up: 535 osapi.c */
};

static LIST_HEAD(nvsim_os_events);
static DEFINE_SPINLOCK(nvsim_os_events_lock);

static struct nvsim_os_event *nvsim_os_event_find(u32 client, u32 fd)
{
	struct nvsim_os_event *event;

	list_for_each_entry(event, &nvsim_os_events, link)
		if (event->client == client && event->fd == fd)
			return event;
	return NULL;
}

int nvsim_esc_alloc_os_event(struct nvsim_file *file, void *arg, u32 size)
{
	struct nv_ioctl_os_event *p = arg;
	struct nvsim_os_event *event = kmalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);

	p->Status = NV_ERR_INSUFFICIENT_RESOURCES;
	if (!event)
		return 0;
	event->file = file;
	event->client = p->hClient;
	event->fd = p->fd;
	spin_lock(&nvsim_os_events_lock);
	if (!nvsim_os_event_find(p->hClient, p->fd)) {
		list_add(&event->link, &nvsim_os_events);
		event = NULL;
		p->Status = NV_OK;
	}
	spin_unlock(&nvsim_os_events_lock);
	kfree(event);
	return 0;
}

int nvsim_esc_free_os_event(struct nvsim_file *file, void *arg, u32 size)
{
	struct nv_ioctl_os_event *p = arg;
	struct nvsim_os_event *event;

	spin_lock(&nvsim_os_events_lock);
	event = nvsim_os_event_find(p->hClient, p->fd);
	if (event)
		list_del(&event->link);
	spin_unlock(&nvsim_os_events_lock);
	p->Status = event ? NV_OK : NV_ERR_INVALID_EVENT;
	kfree(event);
	return 0;
}

static void nvsim_os_events_free(struct nvsim_file *file, u32 client)
{
	struct nvsim_os_event *event, *next;

	spin_lock(&nvsim_os_events_lock);
	list_for_each_entry_safe(event, next, &nvsim_os_events, link) {
		if (file ? event->file == file : event->client == client) {
			list_del(&event->link);
			kfree(event);
		}
	}
	spin_unlock(&nvsim_os_events_lock);
}

void nvsim_file_free_events(struct nvsim_file *file)
{
	nvsim_os_events_free(file, 0);
}

void nvsim_client_free_events(u32 client)
{
	nvsim_os_events_free(NULL, client);
}
