// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family: reads only. The family is not netnsok, so it is seen in the initial
 * network namespace alone.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "backing.h"
#include "netlink.h"
#include "tenant.h"

static struct genl_family vgpu_family;
static DEFINE_MUTEX(vgpu_event_mutex);
static u64 vgpu_event_seq;

/* What the ledger said at one moment, so that current is the sum of its kinds. */
static int vgpu_put_slice(struct sk_buff *skb, struct vgpu_tenant *tenant, u32 index)
{
	const struct vgpu_slice *slice = &tenant->slices[index];
	struct vgpu_ledger ledger;
	struct nlattr *nest;

	spin_lock(&tenant->lock);
	ledger = slice->ledger;
	spin_unlock(&tenant->lock);

	nest = nla_nest_start(skb, VGPU_NL_A_SLICE);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, VGPU_NL_S_INDEX, index) ||
	    nla_put_string(skb, VGPU_NL_S_UUID, slice->uuid) ||
	    nla_put_string(skb, VGPU_NL_S_PCI, slice->pci) ||
	    nla_put_u32(skb, VGPU_NL_S_FLAGS, slice->flags) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_MEMORY_MAX, ledger.max, VGPU_NL_S_PAD) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_MEMORY_CURRENT, ledger.cur, VGPU_NL_S_PAD) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_MEMORY_BUFFERS,
			      ledger.kind[VGPU_CHARGE_BUFFERS], VGPU_NL_S_PAD) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_MEMORY_CONTEXTS,
			      ledger.kind[VGPU_CHARGE_CONTEXTS], VGPU_NL_S_PAD) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_MEMORY_MANAGED,
			      ledger.kind[VGPU_CHARGE_MANAGED], VGPU_NL_S_PAD) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_MEMORY_PEAK, ledger.peak, VGPU_NL_S_PAD) ||
	    nla_put_u64_64bit(skb, VGPU_NL_S_REFUSALS, ledger.refusals, VGPU_NL_S_PAD)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int vgpu_put_tenant(struct sk_buff *skb, struct vgpu_tenant *tenant, const char *reason)
{
	u32 files, i;

	spin_lock(&tenant->lock);
	files = tenant->nr_files;
	spin_unlock(&tenant->lock);

	if (nla_put_u64_64bit(skb, VGPU_NL_A_ID, tenant->id, VGPU_NL_A_PAD) ||
	    nla_put_string(skb, VGPU_NL_A_NAME, tenant->name) ||
	    nla_put_u32(skb, VGPU_NL_A_FLAGS, tenant->flags) ||
	    nla_put_u32(skb, VGPU_NL_A_FILES, files))
		return -EMSGSIZE;
	if (reason[0] && nla_put_string(skb, VGPU_NL_A_REASON, reason))
		return -EMSGSIZE;
	for (i = 0; i < tenant->nr_slices; i++)
		if (vgpu_put_slice(skb, tenant, i))
			return -EMSGSIZE;
	return 0;
}

static int vgpu_dump_start(struct netlink_callback *cb)
{
	/* The sender, and whoever opened the socket: it may have been handed over. */
	if (!vgpu_may_manage() || !netlink_capable(cb->skb, CAP_SYS_ADMIN))
		return -EPERM;
	return 0;
}

/* Resumes by id; no lock is held from one tenant to the next. */
static int vgpu_dump_tenants(struct sk_buff *skb, struct netlink_callback *cb)
{
	char version[VGPU_VERSION_LEN], reason[VGPU_REASON_LEN] = "";
	struct vgpu_tenant *tenant;
	u64 id = cb->args[0] + 1;
	void *head;
	int ret;

	vgpu_backing_state(version, reason);
	while ((tenant = vgpu_tenant_next(&id))) {
		head = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &vgpu_family, NLM_F_MULTI, VGPU_NL_CMD_TENANT_GET);
		ret = head ? vgpu_put_tenant(skb, tenant, reason) : -EMSGSIZE;
		vgpu_tenant_put(tenant);
		if (ret) {
			if (head)
				genlmsg_cancel(skb, head);
			/* An empty message would end the dump: this tenant fits in none. */
			return skb->len ? skb->len : ret;
		}
		genlmsg_end(skb, head);
		cb->args[0] = id++;
	}
	return skb->len;
}

void vgpu_event(enum vgpu_nl_event event, const struct vgpu_tenant *tenant,
		const struct vgpu_slice *slice, u64 bytes)
{
	struct sk_buff *skb;
	void *head;
	u64 seq;

	mutex_lock(&vgpu_event_mutex);
	/* Also of an event that cannot be sent: the gap tells whoever listens. */
	seq = ++vgpu_event_seq;
	if (!genl_has_listeners(&vgpu_family, &init_net, 0))
		goto unlock;
	skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!skb)
		goto unlock;
	head = genlmsg_put(skb, 0, 0, &vgpu_family, 0, VGPU_NL_CMD_EVENT);
	if (!head || nla_put_u64_64bit(skb, VGPU_NL_A_SEQ, seq, VGPU_NL_A_PAD) ||
	    nla_put_u32(skb, VGPU_NL_A_EVENT, event) ||
	    nla_put_u64_64bit(skb, VGPU_NL_A_ID, tenant->id, VGPU_NL_A_PAD) ||
	    nla_put_string(skb, VGPU_NL_A_NAME, tenant->name) ||
	    nla_put_u32(skb, VGPU_NL_A_PID, task_tgid_nr(current)) ||
	    nla_put_u64_64bit(skb, VGPU_NL_A_BYTES, bytes, VGPU_NL_A_PAD))
		goto free;
	if (slice) {
		struct nlattr *nest = nla_nest_start(skb, VGPU_NL_A_SLICE);

		if (!nest || nla_put_u32(skb, VGPU_NL_S_INDEX, slice - tenant->slices) ||
		    nla_put_string(skb, VGPU_NL_S_UUID, slice->uuid))
			goto free;
		nla_nest_end(skb, nest);
	}
	genlmsg_end(skb, head);
	genlmsg_multicast(&vgpu_family, skb, 0, 0, GFP_KERNEL);
	goto unlock;
free:
	nlmsg_free(skb);
unlock:
	mutex_unlock(&vgpu_event_mutex);
}

static const struct genl_ops vgpu_genl_ops[] = {
	{
		.cmd = VGPU_NL_CMD_TENANT_GET,
		.start = vgpu_dump_start,
		.dumpit = vgpu_dump_tenants,
	},
};

static const struct genl_multicast_group vgpu_genl_groups[] = {
	{ .name = VGPU_NL_GROUP_EVENTS, .flags = GENL_MCAST_CAP_SYS_ADMIN },
};

static struct genl_family vgpu_family __ro_after_init = {
	.name = VGPU_NL_NAME,
	.version = VGPU_NL_VERSION,
	.maxattr = VGPU_NL_A_PAD,
	.module = THIS_MODULE,
	.ops = vgpu_genl_ops,
	.n_ops = ARRAY_SIZE(vgpu_genl_ops),
	.resv_start_op = VGPU_NL_CMD_EVENT,
	.mcgrps = vgpu_genl_groups,
	.n_mcgrps = ARRAY_SIZE(vgpu_genl_groups),
};

int vgpu_netlink_init(void)
{
	return genl_register_family(&vgpu_family);
}

void vgpu_netlink_exit(void)
{
	genl_unregister_family(&vgpu_family);
}
