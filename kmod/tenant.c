// SPDX-License-Identifier: GPL-2.0-only
/* Tenants: create, publish, find, remove; who may manage them. */

#include <linux/cgroup.h>
#include <linux/fdtable.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/stdarg.h>
#include <linux/xarray.h>

#include "netlink.h"
#include "node.h"
#include "tenant.h"

#define VGPU_BOOK_BUCKETS	1024

/* Bytes for people: "1.5 GiB", "512 MiB". */
#define VGPU_SIZE_LEN		24

static DEFINE_XARRAY(vgpu_tenants);
static DEFINE_MUTEX(vgpu_tenants_mutex);
static u64 vgpu_last_id;
static u32 vgpu_nr_tenants;

struct vgpu_calibrated {
	struct list_head link;
	char uuid[VGPU_UUID_LEN];
	char driver[VGPU_VERSION_LEN];
	struct vgpu_calibration bytes;
};

static LIST_HEAD(vgpu_calibrated);

struct vgpu_joined {
	struct list_head link;
	struct vgpu_tenant *tenant;
	struct cgroup *cgroup;
};

static LIST_HEAD(vgpu_joined);
static DEFINE_SPINLOCK(vgpu_cgroups_lock);

/* Fills a reason text once: the first one is the nearest to the cause. */
void vgpu_reason(char *reason, const char *fmt, ...)
{
	va_list args;

	if (reason[0])
		return;
	va_start(args, fmt);
	vscnprintf(reason, VGPU_REASON_LEN, fmt, args);
	va_end(args);
}

static const char *vgpu_size_text(char *text, u64 bytes)
{
	u64 mib = bytes >> 20, tenths = mib * 10 >> 10;

	/* GiB only where a tenth says it all: two figures that differ must not look the same. */
	if (!mib || tenths << 10 != mib * 10)
		snprintf(text, VGPU_SIZE_LEN, "%llu MiB", mib);
	else if (tenths % 10)
		snprintf(text, VGPU_SIZE_LEN, "%llu.%llu GiB", tenths / 10, tenths % 10);
	else
		snprintf(text, VGPU_SIZE_LEN, "%llu GiB", tenths / 10);
	return text;
}

static bool vgpu_name_ok(const char *name)
{
	size_t len = strnlen(name, VGPU_NAME_LEN);
	size_t i;

	if (!len || len == VGPU_NAME_LEN)
		return false;
	for (i = 0; i < len; i++) {
		char c = name[i];

		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			continue;
		if (i && (c == '.' || c == '_' || c == '-'))
			continue;
		return false;
	}
	return true;
}

/* "GPU-01234567-89ab-cdef-0123-456789abcdef", the only form that NVML and procfs print. */
static bool vgpu_parse_uuid(const char *uuid, u8 bytes[16])
{
	static const u8 dash[] = { 8, 13, 18, 23 };
	const char *hex = uuid + 4;
	int i, pos = 0, n = 0;

	if (strnlen(uuid, VGPU_UUID_LEN) != 40 || strncmp(uuid, "GPU-", 4))
		return false;
	for (i = 0; i < 16; i++) {
		if (n < ARRAY_SIZE(dash) && pos == dash[n]) {
			if (hex[pos++] != '-')
				return false;
			n++;
		}
		if (hex2bin(&bytes[i], &hex[pos], 1))
			return false;
		pos += 2;
	}
	return true;
}

/*
 * "0000:01:00.0", lower case as the names below /proc/driver/nvidia/gpus: it becomes part of a
 * path.
 */
static bool vgpu_parse_pci(const char *pci, struct vgpu_slice *slice)
{
	static const char form[] = "xxxx:xx:xx.0";
	unsigned int i;

	if (strnlen(pci, VGPU_PCI_LEN) != sizeof(form) - 1)
		return false;
	for (i = 0; form[i]; i++) {
		if (form[i] == 'x' ? hex_to_bin(pci[i]) < 0 || (pci[i] >= 'A' && pci[i] <= 'F') :
		    pci[i] != form[i])
			return false;
	}
	return sscanf(pci, "%4x:%2x:%2x", &slice->domain, &slice->bus, &slice->device) == 3;
}

static int vgpu_slice_init(struct vgpu_slice *slice, const struct vgpu_slice_spec *spec, u32 index,
			   char *reason)
{
	if (spec->__reserved || (spec->flags & ~VGPU_SLICE_NO_MANAGED)) {
		vgpu_reason(reason, "slice %u: unknown flags or a reserved field set", index);
		return -EINVAL;
	}
	if (!vgpu_parse_uuid(spec->uuid, slice->uuid_bytes)) {
		vgpu_reason(reason, "slice %u: not the UUID of a GPU", index);
		return -EINVAL;
	}
	if (!vgpu_parse_pci(spec->pci, slice)) {
		vgpu_reason(reason, "slice %u: not a PCI address", index);
		return -EINVAL;
	}
	if (!spec->memory_max || spec->memory_max > S64_MAX) {
		vgpu_reason(reason, "slice %u: memory limit of %llu bytes", index,
			    spec->memory_max);
		return -EINVAL;
	}
	memcpy(slice->uuid, spec->uuid, sizeof(slice->uuid));
	memcpy(slice->pci, spec->pci, sizeof(slice->pci));
	slice->capacity = spec->capacity;
	slice->flags = spec->flags;
	vgpu_ledger_init(&slice->ledger, spec->memory_max);
	return 0;
}

static void vgpu_tenant_free(struct vgpu_tenant *tenant)
{
	u32 i;

	/* Everything charged hung on a file, and there is none. */
	WARN_ON_ONCE(tenant->book.objects);
	for (i = 0; i < tenant->nr_slices; i++)
		WARN_ON_ONCE(tenant->slices[i].ledger.cur);
	kvfree(tenant->book.buckets);
	kfree(tenant);
}

static struct vgpu_tenant *vgpu_tenant_alloc(const struct vgpu_ioc_create *arg,
					     const struct vgpu_slice_spec *specs, char *reason)
{
	struct vgpu_object **buckets;
	struct vgpu_tenant *tenant;
	u32 i, k;
	int ret;

	tenant = kzalloc(struct_size(tenant, slices, arg->nr_slices), GFP_KERNEL_ACCOUNT);
	if (!tenant)
		return ERR_PTR(-ENOMEM);
	buckets = kvcalloc(VGPU_BOOK_BUCKETS, sizeof(*buckets), GFP_KERNEL_ACCOUNT);
	if (!buckets) {
		kfree(tenant);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&tenant->refs, 1);
	spin_lock_init(&tenant->lock);
	INIT_LIST_HEAD(&tenant->files);
	vgpu_book_init(&tenant->book, buckets, VGPU_BOOK_BUCKETS, get_random_u32());
	strscpy(tenant->name, arg->name, sizeof(tenant->name));
	tenant->flags = arg->flags;
	tenant->nr_slices = arg->nr_slices;

	for (i = 0; i < arg->nr_slices; i++) {
		ret = vgpu_slice_init(&tenant->slices[i], &specs[i], i, reason);
		for (k = 0; !ret && k < i; k++) {
			if (memcmp(tenant->slices[k].uuid_bytes, tenant->slices[i].uuid_bytes, 16))
				continue;
			vgpu_reason(reason, "slices %u and %u are of the same GPU", k, i);
			ret = -EINVAL;
		}
		if (ret) {
			vgpu_tenant_free(tenant);
			return ERR_PTR(ret);
		}
	}
	return tenant;
}

static struct vgpu_tenant *vgpu_tenant_find_locked(const char *name)
{
	struct vgpu_tenant *tenant;
	unsigned long id;

	lockdep_assert_held(&vgpu_tenants_mutex);
	xa_for_each(&vgpu_tenants, id, tenant)
		if (!strcmp(tenant->name, name))
			return tenant;
	return NULL;
}

/* Sum of the limits of a GPU, saturating: limits may be up to 2^63 and overcommitted. */
static u64 vgpu_sum_of_limits_locked(const u8 uuid[16])
{
	struct vgpu_tenant *tenant;
	unsigned long id;
	u64 sum = 0;
	u32 i;

	lockdep_assert_held(&vgpu_tenants_mutex);
	xa_for_each(&vgpu_tenants, id, tenant)
		for (i = 0; i < tenant->nr_slices; i++) {
			const struct vgpu_slice *slice = &tenant->slices[i];
			u64 max = READ_ONCE(slice->ledger.max);

			if (!memcmp(slice->uuid_bytes, uuid, 16))
				sum = max > U64_MAX - sum ? U64_MAX : sum + max;
		}
	return sum;
}

static int vgpu_tenant_admit_locked(const struct vgpu_tenant *tenant, char *reason)
{
	u32 i;

	if (vgpu_tenant_find_locked(tenant->name)) {
		vgpu_reason(reason, "tenant '%s' exists", tenant->name);
		return -EEXIST;
	}
	if (tenant->flags & VGPU_CREATE_OVERCOMMIT)
		return 0;
	for (i = 0; i < tenant->nr_slices; i++) {
		const struct vgpu_slice *slice = &tenant->slices[i];
		u64 sum = vgpu_sum_of_limits_locked(slice->uuid_bytes);
		u64 left = sum < slice->capacity ? slice->capacity - sum : 0;
		char asked[VGPU_SIZE_LEN], free[VGPU_SIZE_LEN], all[VGPU_SIZE_LEN];

		if (slice->ledger.max <= left)
			continue;
		vgpu_reason(reason, "%s: %s asked, %s of %s not given to others", slice->uuid,
			    vgpu_size_text(asked, slice->ledger.max), vgpu_size_text(free, left),
			    vgpu_size_text(all, slice->capacity));
		return -ENOSPC;
	}
	return 0;
}

int vgpu_tenant_create(const struct vgpu_ioc_create *arg, const struct vgpu_slice_spec *specs,
		       u64 *id, char *reason)
{
	struct vgpu_tenant *tenant;
	int ret;

	if (!vgpu_name_ok(arg->name)) {
		vgpu_reason(reason,
			    "a name is 1 to %u of a-z, 0-9, '.', '_', '-', a letter or digit first",
			    VGPU_NAME_LEN - 1);
		return -EINVAL;
	}
	tenant = vgpu_tenant_alloc(arg, specs, reason);
	if (IS_ERR(tenant))
		return PTR_ERR(tenant);

	mutex_lock(&vgpu_tenants_mutex);
	ret = vgpu_tenant_admit_locked(tenant, reason);
	if (!ret) {
		tenant->id = vgpu_last_id + 1;
		ret = xa_err(xa_store(&vgpu_tenants, tenant->id, tenant, GFP_KERNEL));
	}
	if (!ret) {
		/* A tenant keeps the module; the caller's open control file does so until here. */
		__module_get(THIS_MODULE);
		vgpu_last_id = tenant->id;
		vgpu_nr_tenants++;
		*id = tenant->id;
		vgpu_event(VGPU_NL_EVENT_CREATED, tenant, NULL, 0);
	}
	mutex_unlock(&vgpu_tenants_mutex);
	if (ret)
		vgpu_tenant_free(tenant);
	return ret;
}

static void vgpu_tenant_unjoin(struct vgpu_tenant *tenant)
{
	struct vgpu_joined *joined, *next;
	LIST_HEAD(gone);

	spin_lock(&vgpu_cgroups_lock);
	list_for_each_entry_safe(joined, next, &vgpu_joined, link)
		if (joined->tenant == tenant)
			list_move(&joined->link, &gone);
	spin_unlock(&vgpu_cgroups_lock);

	list_for_each_entry_safe(joined, next, &gone, link) {
		cgroup_put(joined->cgroup);
		kfree(joined);
	}
}

void vgpu_tenant_put(struct vgpu_tenant *tenant)
{
	if (!refcount_dec_and_test(&tenant->refs))
		return;
	vgpu_tenant_unjoin(tenant);
	vgpu_tenant_free(tenant);
	module_put(THIS_MODULE);
}

/* Takes it off the list. The caller has marked it dead. */
static void vgpu_tenant_unlist_locked(struct vgpu_tenant *tenant)
{
	lockdep_assert_held(&vgpu_tenants_mutex);
	xa_erase(&vgpu_tenants, tenant->id);
	vgpu_nr_tenants--;
	vgpu_event(VGPU_NL_EVENT_REMOVED, tenant, NULL, 0);
}

int vgpu_tenant_remove(struct vgpu_ioc_remove *arg)
{
	struct vgpu_tenant *tenant;
	int ret = 0;

	if (strnlen(arg->name, VGPU_NAME_LEN) == VGPU_NAME_LEN)
		return -EINVAL;

	mutex_lock(&vgpu_tenants_mutex);
	tenant = vgpu_tenant_find_locked(arg->name);
	if (!tenant) {
		vgpu_reason(arg->reason, "no tenant '%s'", arg->name);
		ret = -ENOENT;
		goto unlock;
	}
	spin_lock(&tenant->lock);
	arg->out_files = tenant->nr_files;
	if (tenant->nr_files)
		ret = -EBUSY;
	else
		tenant->dead = true;
	spin_unlock(&tenant->lock);
	if (ret)
		vgpu_files_reason(tenant, arg->reason);
	else
		vgpu_tenant_unlist_locked(tenant);
unlock:
	mutex_unlock(&vgpu_tenants_mutex);
	if (!ret)
		vgpu_tenant_put(tenant);
	return ret;
}

/* The superblock of a bound tenant ends: no file of it is open and no mount of it is left. */
void vgpu_tenant_retire(struct vgpu_tenant *tenant)
{
	bool listed;

	mutex_lock(&vgpu_tenants_mutex);
	listed = xa_load(&vgpu_tenants, tenant->id) == tenant;
	if (listed) {
		spin_lock(&tenant->lock);
		tenant->dead = true;
		spin_unlock(&tenant->lock);
		vgpu_tenant_unlist_locked(tenant);
	}
	mutex_unlock(&vgpu_tenants_mutex);
	if (listed)
		vgpu_tenant_put(tenant);
}

/* With a reference, or NULL. */
struct vgpu_tenant *vgpu_tenant_find(const char *name)
{
	struct vgpu_tenant *tenant;

	mutex_lock(&vgpu_tenants_mutex);
	tenant = vgpu_tenant_find_locked(name);
	if (tenant)
		refcount_inc(&tenant->refs);
	mutex_unlock(&vgpu_tenants_mutex);
	return tenant;
}

/* The first tenant with an id of at least *@id, with a reference, and its id; or NULL. */
struct vgpu_tenant *vgpu_tenant_next(u64 *id)
{
	struct vgpu_tenant *tenant;
	unsigned long index = *id;

	mutex_lock(&vgpu_tenants_mutex);
	tenant = xa_find(&vgpu_tenants, &index, ULONG_MAX, XA_PRESENT);
	if (tenant) {
		refcount_inc(&tenant->refs);
		*id = index;
	}
	mutex_unlock(&vgpu_tenants_mutex);
	return tenant;
}

u32 vgpu_tenant_count(void)
{
	return READ_ONCE(vgpu_nr_tenants);
}

/*
 * Records of cgroups that are gone go with the next join: a kept tenant may outlive many
 * containers.
 */
static void vgpu_joined_prune_locked(struct list_head *gone)
{
	struct vgpu_joined *joined, *next;

	lockdep_assert_held(&vgpu_cgroups_lock);
	list_for_each_entry_safe(joined, next, &vgpu_joined, link)
		if (!(READ_ONCE(joined->cgroup->self.flags) & CSS_ONLINE))
			list_move(&joined->link, gone);
}

int vgpu_tenant_join(struct vgpu_tenant *tenant, int cgroup_fd, char *reason)
{
	struct vgpu_joined *joined, *next;
	LIST_HEAD(gone);

	joined = kzalloc(sizeof(*joined), GFP_KERNEL);
	if (!joined)
		return -ENOMEM;
	joined->tenant = tenant;
	joined->cgroup = cgroup_get_from_fd(cgroup_fd);
	if (IS_ERR(joined->cgroup)) {
		int ret = PTR_ERR(joined->cgroup);

		vgpu_reason(reason, "descriptor %d is not a directory of the cgroup v2 tree",
			    cgroup_fd);
		kfree(joined);
		return ret == -EBADF ? -EBADF : -EINVAL;
	}
	if (!cgroup_parent(joined->cgroup)) {
		vgpu_reason(reason, "the root of the cgroup tree holds everyone");
		cgroup_put(joined->cgroup);
		kfree(joined);
		return -EINVAL;
	}

	spin_lock(&vgpu_cgroups_lock);
	vgpu_joined_prune_locked(&gone);
	list_add_tail(&joined->link, &vgpu_joined);
	spin_unlock(&vgpu_cgroups_lock);

	list_for_each_entry_safe(joined, next, &gone, link) {
		cgroup_put(joined->cgroup);
		kfree(joined);
	}
	return 0;
}

static bool vgpu_in_joined_cgroup(void)
{
	struct vgpu_joined *joined;
	struct cgroup *cgroup;
	bool found = false;

	rcu_read_lock();
	cgroup = task_dfl_cgroup(current);
	spin_lock(&vgpu_cgroups_lock);
	list_for_each_entry(joined, &vgpu_joined, link)
		if (cgroup_is_descendant(cgroup, joined->cgroup)) {
			found = true;
			break;
		}
	spin_unlock(&vgpu_cgroups_lock);
	rcu_read_unlock();
	return found;
}

static int vgpu_is_node_file(const void *unused, struct file *file, unsigned int fd)
{
	return vgpu_is_node(file);
}

/*
 * CAP_SYS_ADMIN in the initial user namespace does not tell a privileged container from the host;
 * being in another pid namespace, in a tenant's cgroup or holding a tenant's file does.
 */
bool vgpu_may_manage(void)
{
	return capable(CAP_SYS_ADMIN) && task_active_pid_ns(current) == &init_pid_ns &&
	       !iterate_fd(current->files, 0, vgpu_is_node_file, NULL) && !vgpu_in_joined_cgroup();
}

static struct vgpu_calibrated *vgpu_calibrated_find_locked(const char *uuid, const char *driver)
{
	struct vgpu_calibrated *entry;

	lockdep_assert_held(&vgpu_tenants_mutex);
	list_for_each_entry(entry, &vgpu_calibrated, link)
		if (!strcmp(entry->uuid, uuid) && !strcmp(entry->driver, driver))
			return entry;
	return NULL;
}

int vgpu_calibrate(const struct vgpu_ioc_calibrate *arg, char *reason)
{
	struct vgpu_calibrated *entry;
	u8 bytes[16];
	int ret = 0;

	if (!vgpu_parse_uuid(arg->uuid, bytes)) {
		vgpu_reason(reason, "not the UUID of a GPU");
		return -EINVAL;
	}
	if (!arg->driver[0] || strnlen(arg->driver, VGPU_VERSION_LEN) == VGPU_VERSION_LEN) {
		vgpu_reason(reason, "not a driver version");
		return -EINVAL;
	}
	mutex_lock(&vgpu_tenants_mutex);
	entry = vgpu_calibrated_find_locked(arg->uuid, arg->driver);
	if (!entry) {
		entry = kzalloc(sizeof(*entry), GFP_KERNEL);
		if (!entry) {
			ret = -ENOMEM;
			goto unlock;
		}
		memcpy(entry->uuid, arg->uuid, sizeof(entry->uuid));
		memcpy(entry->driver, arg->driver, sizeof(entry->driver));
		list_add_tail(&entry->link, &vgpu_calibrated);
	}
	entry->bytes.known = true;
	entry->bytes.channel_bytes = arg->channel_bytes;
	entry->bytes.context_bytes = arg->context_bytes;
unlock:
	mutex_unlock(&vgpu_tenants_mutex);
	return ret;
}

struct vgpu_calibration vgpu_calibration(const char *uuid, const char *driver)
{
	struct vgpu_calibration bytes = {};
	struct vgpu_calibrated *entry;

	mutex_lock(&vgpu_tenants_mutex);
	entry = vgpu_calibrated_find_locked(uuid, driver);
	if (entry)
		bytes = entry->bytes;
	mutex_unlock(&vgpu_tenants_mutex);
	return bytes;
}

void vgpu_tenants_exit(void)
{
	struct vgpu_calibrated *entry, *next;

	list_for_each_entry_safe(entry, next, &vgpu_calibrated, link)
		kfree(entry);
}
