// SPDX-License-Identifier: GPL-2.0-only
/* Finding the driver behind the nodes, pinning it, calling it. */

#include <linux/completion.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/pseudo_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/workqueue.h>

#include "backing.h"
#include "node.h"
#include "tenant.h"

#define VGPU_BACKING_MAGIC	0x76677562	/* "vgub" */
#define VGPU_TEXT_BYTES		8192		/* the texts of procfs are smaller */

static bool allow_unqualified;
module_param(allow_unqualified, bool, 0444);
MODULE_PARM_DESC(allow_unqualified,
		 "use the nearest tables for a driver version that is in none (default: refuse it)");

/**
 * struct vgpu_found - what was found of the driver
 * @generation: of vgpu_generation when the search began
 * @state: VGPU_DRIVER_*
 * @abi: tables, NULL unless @state lets files open
 * @frontend: operations of nvidiactl and nvidia<n>, or NULL
 * @uvm: operations of nvidia-uvm, or NULL
 * @uvm_major: major number of nvidia-uvm, 0: none
 * @version: of the driver
 * @reason: why not
 */
struct vgpu_found {
	u64 generation;
	u32 state;
	const struct vgpu_rm_abi *abi;
	const struct file_operations *frontend;
	const struct file_operations *uvm;
	unsigned int uvm_major;
	char version[VGPU_VERSION_LEN];
	char reason[VGPU_REASON_LEN];
};

/*
 * Guards the following three. Pointers in vgpu_found are to modules that nothing may pin: they are
 * used only with the lock held until a reference is taken, and the notifier clears them, with the
 * lock, before the module's memory goes.
 */
static DEFINE_SPINLOCK(vgpu_driver_lock);
static struct vgpu_found vgpu_found;
static u64 vgpu_generation = 1;

static DEFINE_MUTEX(vgpu_resolve_mutex);
static struct vfsmount *vgpu_backing_mnt;

/*
 * A kworker does the search: its root and credentials are init's, the caller's are the container's.
 */
struct vgpu_search {
	struct work_struct work;
	struct vgpu_found found;
	const struct vgpu_slice *slice;
	int minor;
	bool uuid_known;
};

static bool vgpu_is_driver(struct module *mod, bool uvm)
{
	if (!mod)
		return false;
	return !strcmp(module_name(mod), "nvsim") ||
	       !strcmp(module_name(mod), uvm ? "nvidia_uvm" : "nvidia");
}

/*
 * Opens the character device @dev through a dentry that owns its inode: a file whose inode is not
 * held by its path outlives it (open_with_fake_path).
 */
static struct file *vgpu_open_device(dev_t dev)
{
	struct path path = { .mnt = vgpu_backing_mnt };
	struct inode *inode;
	struct file *file;

	inode = new_inode(vgpu_backing_mnt->mnt_sb);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	init_special_inode(inode, S_IFCHR | 0600, dev);
	path.dentry = d_alloc_name(vgpu_backing_mnt->mnt_root, "device");
	if (!path.dentry) {
		iput(inode);
		return ERR_PTR(-ENOMEM);
	}
	d_instantiate(path.dentry, inode);
	file = dentry_open(&path, O_RDWR, current_cred());
	dput(path.dentry);
	return file;
}

/*
 * Reads a text of procfs. NVIDIA's files there have no read_iter, all are seq_files (nv-procfs.h).
 */
static int vgpu_read_text(const char *path, char *text, size_t size)
{
	struct file *file = filp_open(path, O_RDONLY, 0);
	loff_t pos = 0;
	size_t len = 0;
	ssize_t n;

	if (IS_ERR(file))
		return PTR_ERR(file);
	do {
		if (file->f_op->read_iter) {
			n = kernel_read(file, text + len, size - 1 - len, &pos);
		} else {
			struct kvec vec = { .iov_base = text + len, .iov_len = size - 1 - len };
			struct iov_iter iter;
			struct kiocb kiocb;

			init_sync_kiocb(&kiocb, file);
			kiocb.ki_pos = pos;
			iov_iter_kvec(&iter, READ, &vec, 1, vec.iov_len);
			n = seq_read_iter(&kiocb, &iter);
			pos = kiocb.ki_pos;
		}
		if (n > 0)
			len += n;
	} while (n > 0 && len < size - 1);
	__fput_sync(file);
	text[len] = 0;
	return n < 0 ? n : 0;
}

/* Major number of @name in /proc/devices, 0 when it is not there. */
static unsigned int vgpu_find_major(const char *name)
{
	char *text, *line, *rest;
	unsigned int major = 0;

	text = kmalloc(VGPU_TEXT_BYTES, GFP_KERNEL);
	if (!text)
		return 0;
	if (!vgpu_read_text("/proc/devices", text, VGPU_TEXT_BYTES)) {
		rest = text;
		while ((line = strsep(&rest, "\n"))) {
			char found[32];
			unsigned int nr;

			if (!strncmp(line, "Block", 5))
				break;
			if (sscanf(line, "%u %31s", &nr, found) == 2 && !strcmp(found, name))
				major = nr;
		}
	}
	kfree(text);
	return major;
}

/* The value behind "key:" when @line begins so, else NULL. */
static char *vgpu_value(char *line, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(line, key, len) || line[len] != ':')
		return NULL;
	return strim(line + len + 1);
}

/* Minor number of the driver for a GPU, or a negative errno with the reason. */
static int vgpu_find_minor(const struct vgpu_slice *slice, bool *uuid_known, char *reason)
{
	char path[sizeof("/proc/driver/nvidia/gpus//information") + VGPU_PCI_LEN];
	char *text, *line, *rest, *value;
	int minor = -ENODEV;
	int ret;

	text = kmalloc(VGPU_TEXT_BYTES, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", slice->pci);
	ret = vgpu_read_text(path, text, VGPU_TEXT_BYTES);
	if (ret) {
		vgpu_reason(reason, "no GPU at %s (%s: error %d)", slice->pci, path, ret);
		goto free;
	}
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		value = vgpu_value(line, "GPU UUID");
		/*
		 * Question marks until the GPU was first opened (535 kernel-open/nvidia/nv-
		 * procfs.c).
		 */
		if (value && !strchr(value, '?') && strcasecmp(value, slice->uuid)) {
			vgpu_reason(reason, "the GPU at %s is %s, not %s", slice->pci, value,
				    slice->uuid);
			minor = -ENODEV;
			break;
		}
		if (value && !strchr(value, '?'))
			*uuid_known = true;
		value = vgpu_value(line, "Device Minor");
		if (value && kstrtoint(value, 10, &minor))
			minor = -ENODEV;
	}
	if (minor < 0)
		vgpu_reason(reason, "%s names no minor number", path);
	else if (minor >= VGPU_MINOR_CTL)
		minor = -ENODEV;
free:
	kfree(text);
	return minor;
}

/* Tables for a version that has none: the newest of its branch, else the newest at all. */
static const struct vgpu_rm_abi *vgpu_nearest_abi(const char *version)
{
	const char *known, *best = NULL, *last = NULL;
	size_t branch = strcspn(version, ".") + 1;
	u32 n;

	for (n = 0; (known = vgpu_rm_version(n)); n++) {
		last = known;
		if (!strncmp(known, version, branch))
			best = known;
	}
	if (!best)
		best = last;
	return best ? vgpu_rm_abi(best) : NULL;
}

static void vgpu_judge_version(struct vgpu_found *found, const char *version)
{
	strscpy(found->version, version ? version : "", sizeof(found->version));
	if (!version) {
		found->state = VGPU_DRIVER_REFUSED;
		vgpu_reason(found->reason, "the driver names no version");
		return;
	}
	found->abi = vgpu_rm_abi(version);
	if (found->abi) {
		found->state = VGPU_DRIVER_QUALIFIED;
	} else if (allow_unqualified) {
		found->abi = vgpu_nearest_abi(version);
		found->state = VGPU_DRIVER_UNQUALIFIED;
	} else {
		found->state = VGPU_DRIVER_REFUSED;
		vgpu_reason(found->reason,
			    "driver version %s is in no table (allow_unqualified=1 takes the nearest)",
			    found->version);
	}
}

/*
 * The operations of @dev with a reference on their module, or NULL. Operations that are not a
 * driver's are as good as none: some other module has taken the number.
 */
static const struct file_operations *vgpu_find_fops(dev_t dev, bool uvm, int *error)
{
	const struct file_operations *fops = NULL;
	struct file *file = vgpu_open_device(dev);

	if (IS_ERR(file)) {
		*error = PTR_ERR(file);
		return NULL;
	}
	*error = -ENODEV;
	if (vgpu_is_driver(file->f_op->owner, uvm) && try_module_get(file->f_op->owner))
		fops = file->f_op;
	/* Here and now: a reference that goes with delayed work would keep rmmod waiting. */
	__fput_sync(file);
	return fops;
}

static void vgpu_search_driver(struct work_struct *work)
{
	struct vgpu_search *search = container_of(work, struct vgpu_search, work);
	struct vgpu_found *found = &search->found;
	int error;

	found->state = VGPU_DRIVER_ABSENT;
	found->frontend = vgpu_find_fops(MKDEV(VGPU_MAJOR, VGPU_MINOR_CTL), false, &error);
	if (!found->frontend) {
		if (error == -ENODEV || error == -ENXIO)
			vgpu_reason(found->reason, "no driver is loaded");
		else
			vgpu_reason(found->reason, "the driver does not open: error %d", error);
		/* An error of the moment is not kept. */
		if (error != -ENODEV && error != -ENXIO)
			found->generation = 0;
		return;
	}
	vgpu_judge_version(found, found->frontend->owner->version);

	found->uvm_major = vgpu_find_major("nvidia-uvm");
	if (!found->uvm_major)
		return;
	found->uvm = vgpu_find_fops(MKDEV(found->uvm_major, 0), true, &error);
	if (!found->uvm)
		return;
	/* Two modules that are loaded apart can be of two versions. */
	if (found->uvm->owner->version && strcmp(found->uvm->owner->version, found->version)) {
		module_put(found->uvm->owner);
		found->uvm = NULL;
	}
}

static void vgpu_search_minor(struct work_struct *work)
{
	struct vgpu_search *search = container_of(work, struct vgpu_search, work);

	search->minor = vgpu_find_minor(search->slice, &search->uuid_known, search->found.reason);
}

static void vgpu_search_run(struct vgpu_search *search, work_func_t func)
{
	INIT_WORK_ONSTACK(&search->work, func);
	queue_work(system_unbound_wq, &search->work);
	flush_work(&search->work);
	destroy_work_on_stack(&search->work);
}

static bool vgpu_found_current_locked(void)
{
	lockdep_assert_held(&vgpu_driver_lock);
	return vgpu_found.generation == vgpu_generation;
}

static bool vgpu_found_current(void)
{
	bool is_current;

	spin_lock(&vgpu_driver_lock);
	is_current = vgpu_found_current_locked();
	spin_unlock(&vgpu_driver_lock);
	return is_current;
}

static void vgpu_search_once(struct vgpu_search *search)
{
	struct vgpu_found *found = &search->found;

	memset(found, 0, sizeof(*found));
	spin_lock(&vgpu_driver_lock);
	found->generation = vgpu_generation;
	spin_unlock(&vgpu_driver_lock);

	vgpu_search_run(search, vgpu_search_driver);
	if (found->state == VGPU_DRIVER_REFUSED)
		pr_warn("vgpu: nodes stay shut: %s\n", found->reason);

	/* The references end here; the notifier watches over the pointers from now on. */
	spin_lock(&vgpu_driver_lock);
	vgpu_found = *found;
	spin_unlock(&vgpu_driver_lock);
	if (found->uvm)
		module_put(found->uvm->owner);
	if (found->frontend)
		module_put(found->frontend->owner);
}

/*
 * Searches unless what was found is still true. A driver may come while we look, not least because
 * looking for its number makes the kernel load it.
 */
static int vgpu_resolve(void)
{
	struct vgpu_search *search;
	int tries = 3;

	if (vgpu_found_current())
		return 0;
	search = kzalloc(sizeof(*search), GFP_KERNEL);
	if (!search)
		return -ENOMEM;
	if (mutex_lock_killable(&vgpu_resolve_mutex)) {
		kfree(search);
		return -ERESTARTSYS;
	}
	while (!vgpu_found_current() && tries--)
		vgpu_search_once(search);
	mutex_unlock(&vgpu_resolve_mutex);
	kfree(search);
	return 0;
}

/* Kept until a driver comes or goes, but only once the driver has told the UUID too. */
int vgpu_backing_minor(struct vgpu_slice *slice, char *reason)
{
	struct vgpu_search *search;
	int minor = -1;

	spin_lock(&vgpu_driver_lock);
	if (slice->minor_generation == vgpu_generation)
		minor = slice->minor;
	spin_unlock(&vgpu_driver_lock);
	if (minor >= 0)
		return minor;

	search = kzalloc(sizeof(*search), GFP_KERNEL);
	if (!search)
		return -ENOMEM;
	search->slice = slice;
	spin_lock(&vgpu_driver_lock);
	search->found.generation = vgpu_generation;
	spin_unlock(&vgpu_driver_lock);
	vgpu_search_run(search, vgpu_search_minor);
	minor = search->minor;
	if (minor < 0) {
		vgpu_reason(reason, "%s", search->found.reason);
	} else if (search->uuid_known) {
		spin_lock(&vgpu_driver_lock);
		slice->minor = minor;
		slice->minor_generation = search->found.generation;
		slice->context_bytes = 0;
		spin_unlock(&vgpu_driver_lock);
	}
	kfree(search);
	return minor;
}

int vgpu_backing_get(struct vgpu_driver *drv, enum vgpu_node_kind kind,
		     struct vgpu_slice *slice, char *reason)
{
	int ret = vgpu_resolve();
	int minor;

	if (ret)
		return ret;

	spin_lock(&vgpu_driver_lock);
	drv->abi = vgpu_found.abi;
	drv->fops = kind == VGPU_NODE_UVM ? vgpu_found.uvm : vgpu_found.frontend;
	drv->dev = kind == VGPU_NODE_UVM ? MKDEV(vgpu_found.uvm_major, 0) :
					   MKDEV(VGPU_MAJOR, VGPU_MINOR_CTL);
	if (vgpu_found.reason[0])
		vgpu_reason(reason, "%s", vgpu_found.reason);
	else if (!drv->fops)
		vgpu_reason(reason, "no nvidia-uvm of the driver's version is loaded");
	if (!vgpu_found_current_locked() || !drv->abi || !drv->fops ||
	    !try_module_get(drv->fops->owner))
		ret = -ENODEV;
	spin_unlock(&vgpu_driver_lock);
	if (ret || kind != VGPU_NODE_GPU)
		return ret;

	minor = vgpu_backing_minor(slice, reason);
	if (minor < 0) {
		vgpu_backing_put(drv);
		return minor;
	}
	drv->dev = MKDEV(VGPU_MAJOR, minor);
	return 0;
}

void vgpu_backing_put(const struct vgpu_driver *drv)
{
	module_put(drv->fops->owner);
}

void vgpu_backing_version(const struct vgpu_driver *drv, char *version)
{
	strscpy(version, drv->fops->owner->version ? drv->fops->owner->version : "",
		VGPU_VERSION_LEN);
}

u32 vgpu_backing_state(char *version, char *reason)
{
	u32 state;

	if (vgpu_resolve()) {
		vgpu_reason(reason, "interrupted");
		return VGPU_DRIVER_ABSENT;
	}
	spin_lock(&vgpu_driver_lock);
	state = vgpu_found.state;
	strscpy(version, vgpu_found.version, VGPU_VERSION_LEN);
	if (vgpu_found.reason[0])
		vgpu_reason(reason, "%s", vgpu_found.reason);
	spin_unlock(&vgpu_driver_lock);
	return state;
}

unsigned int vgpu_backing_uvm_major(void)
{
	unsigned int major = 0;

	if (vgpu_resolve())
		return 0;
	spin_lock(&vgpu_driver_lock);
	if (vgpu_found.uvm)
		major = vgpu_found.uvm_major;
	spin_unlock(&vgpu_driver_lock);
	return major;
}

int vgpu_backing_open(const struct vgpu_driver *drv, struct inode *inode, struct file *file)
{
	struct address_space *mapping = file->f_mapping;
	int ret = drv->fops->open ? drv->fops->open(inode, file) : 0;

	if (ret) {
		/*
		 * 535 nv.c sets f_mapping before it can fail; do_dentry_open looks at it
		 * afterwards.
		 */
		file->f_mapping = mapping;
		file->private_data = NULL;
	}
	return ret;
}

void vgpu_backing_release(const struct vgpu_driver *drv, struct inode *inode, struct file *file)
{
	if (drv->fops->release)
		drv->fops->release(inode, file);
}

long vgpu_backing_ioctl(const struct vgpu_driver *drv, struct file *file, unsigned int cmd,
			unsigned long arg)
{
	return drv->fops->unlocked_ioctl(file, cmd, arg);
}

int vgpu_backing_mmap(const struct vgpu_driver *drv, struct file *file, struct vm_area_struct *vma)
{
	return drv->fops->mmap ? drv->fops->mmap(file, vma) : -ENODEV;
}

__poll_t vgpu_backing_poll(const struct vgpu_driver *drv, struct file *file,
			   struct poll_table_struct *wait)
{
	return drv->fops->poll ? drv->fops->poll(file, wait) : DEFAULT_POLLMASK;
}

/* Whatever comes or goes under a driver's name makes what was found untrue. */
static int vgpu_module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (event != MODULE_STATE_LIVE && event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	if (!vgpu_is_driver(mod, false) && !vgpu_is_driver(mod, true))
		return NOTIFY_DONE;
	spin_lock(&vgpu_driver_lock);
	vgpu_generation++;
	if (event == MODULE_STATE_GOING) {
		vgpu_found.frontend = NULL;
		vgpu_found.uvm = NULL;
		vgpu_found.uvm_major = 0;
	}
	spin_unlock(&vgpu_driver_lock);
	return NOTIFY_DONE;
}

static struct notifier_block vgpu_module_nb = {
	.notifier_call = vgpu_module_event,
};

static int vgpu_backing_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, VGPU_BACKING_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type vgpu_backing_fs = {
	.name = "vgpu_backing",
	.init_fs_context = vgpu_backing_init_fs_context,
	.kill_sb = kill_anon_super,
};

int vgpu_backing_init(void)
{
	int ret;

	vgpu_backing_mnt = kern_mount(&vgpu_backing_fs);
	if (IS_ERR(vgpu_backing_mnt))
		return PTR_ERR(vgpu_backing_mnt);
	ret = register_module_notifier(&vgpu_module_nb);
	if (ret)
		kern_unmount(vgpu_backing_mnt);
	return ret;
}

void vgpu_backing_exit(void)
{
	unregister_module_notifier(&vgpu_module_nb);
	kern_unmount(vgpu_backing_mnt);
}
