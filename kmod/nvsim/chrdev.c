// SPDX-License-Identifier: GPL-2.0-only
/* /dev/nvidiactl and /dev/nvidiaN: major 195 as nvidia-frontend of 535 registers it. */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "escape.h"
#include "object.h"

#define NVSIM_MINORS	256

struct class *nvsim_device_class;
static struct cdev nvsim_cdev;

struct file *nvsim_fget(int fd, bool ctl)
{
	struct file *file = fget(fd);
	dev_t rdev;

	if (!file)
		return NULL;
	rdev = file_inode(file)->i_rdev;
	if (MAJOR(rdev) == NVSIM_MAJOR && nvsim_file(file) &&
	    (ctl ? MINOR(rdev) == NVSIM_MINOR_CTL : MINOR(rdev) < nvsim_config.gpus))
		return file;
	fput(file);
	return NULL;
}

static int nvsim_open(struct inode *inode, struct file *file)
{
	unsigned int minor = iminor(inode);
	struct nvsim_file *nvf;

	if (minor != NVSIM_MINOR_CTL && minor >= nvsim_config.gpus)
		return -ENODEV;

	nvf = kzalloc(sizeof(*nvf), GFP_KERNEL_ACCOUNT);
	if (!nvf)
		return -ENOMEM;
	init_waitqueue_head(&nvf->wait);
	spin_lock_init(&nvf->event_lock);
	spin_lock_init(&nvf->mmap_lock);
	INIT_LIST_HEAD(&nvf->clients);

	if (minor != NVSIM_MINOR_CTL) {
		nvf->gpu = &nvsim_gpus[minor];
		/*
		 * 535 nv.c, nv_init_mapping_revocation: each GPU file has an address space of its
		 * own, so that its mappings can be taken away without touching those of others.
		 */
		address_space_init_once(&nvf->mapping);
		nvf->mapping.host = inode;
		nvf->mapping.a_ops = inode->i_mapping->a_ops;
		file->f_mapping = &nvf->mapping;
	}
	file->private_data = nvf;
	return 0;
}

static int nvsim_release(struct inode *inode, struct file *file)
{
	struct nvsim_file *nvf = nvsim_file(file);

	/* Nobody else can reach this file any more: the last reference on it is gone. */
	mutex_lock(&nvsim_rm_lock);
	nvsim_file_free_clients(nvf);
	mutex_unlock(&nvsim_rm_lock);
	nvsim_file_free_events(nvf);
	nvsim_mmap_release(nvf);
	if (nvf->exported)
		nvsim_mem_put(nvf->exported);
	if (nvf->ctl)
		fput(nvf->ctl);
	file->private_data = NULL;
	kfree(nvf);
	return 0;
}

static __poll_t nvsim_poll(struct file *file, poll_table *wait)
{
	struct nvsim_file *nvf = nvsim_file(file);
	__poll_t mask = 0;

	poll_wait(file, &nvf->wait, wait);
	spin_lock(&nvf->event_lock);
	/* One look takes what is pending: 535 nv.c, nvidia_poll. */
	if (nvf->events_pending) {
		nvf->events_pending = 0;
		mask = EPOLLPRI | EPOLLIN;
	}
	spin_unlock(&nvf->event_lock);
	return mask;
}

void nvsim_file_signal(struct nvsim_file *nvf)
{
	spin_lock(&nvf->event_lock);
	nvf->events_pending++;
	spin_unlock(&nvf->event_lock);
	wake_up_interruptible(&nvf->wait);
}

static const struct file_operations nvsim_fops = {
	.owner		= THIS_MODULE,
	.open		= nvsim_open,
	.release	= nvsim_release,
	.poll		= nvsim_poll,
	.unlocked_ioctl	= nvsim_ioctl,
	.compat_ioctl	= nvsim_ioctl,
	.mmap		= nvsim_mmap,
	.llseek		= noop_llseek,
};

static char *nvsim_devnode(struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static int nvsim_add_node(unsigned int minor, const char *name)
{
	struct device *dev;

	dev = device_create(nvsim_device_class, NULL, MKDEV(NVSIM_MAJOR, minor), NULL, "%s", name);
	return PTR_ERR_OR_ZERO(dev);
}

static void nvsim_remove_nodes(unsigned int gpus)
{
	while (gpus--)
		device_destroy(nvsim_device_class, MKDEV(NVSIM_MAJOR, gpus));
	device_destroy(nvsim_device_class, MKDEV(NVSIM_MAJOR, NVSIM_MINOR_CTL));
}

static int nvsim_add_nodes(void)
{
	unsigned int i;
	char name[16];
	int err;

	err = nvsim_add_node(NVSIM_MINOR_CTL, "nvidiactl");
	if (err)
		return err;
	for (i = 0; i < nvsim_config.gpus; i++) {
		snprintf(name, sizeof(name), "nvidia%u", i);
		err = nvsim_add_node(i, name);
		if (err) {
			nvsim_remove_nodes(i);
			return err;
		}
	}
	return 0;
}

int nvsim_chrdev_init(void)
{
	int err;

	err = register_chrdev_region(MKDEV(NVSIM_MAJOR, 0), NVSIM_MINORS, "nvidia-frontend");
	if (err)
		return err;
	nvsim_device_class = class_create(THIS_MODULE, "nvsim");
	if (IS_ERR(nvsim_device_class)) {
		err = PTR_ERR(nvsim_device_class);
		goto err_region;
	}
	nvsim_device_class->devnode = nvsim_devnode;
	cdev_init(&nvsim_cdev, &nvsim_fops);
	nvsim_cdev.owner = THIS_MODULE;
	err = cdev_add(&nvsim_cdev, MKDEV(NVSIM_MAJOR, 0), NVSIM_MINORS);
	if (err)
		goto err_class;
	err = nvsim_add_nodes();
	if (err)
		goto err_cdev;
	return 0;

err_cdev:
	cdev_del(&nvsim_cdev);
err_class:
	class_destroy(nvsim_device_class);
err_region:
	unregister_chrdev_region(MKDEV(NVSIM_MAJOR, 0), NVSIM_MINORS);
	return err;
}

void nvsim_chrdev_exit(void)
{
	nvsim_remove_nodes(nvsim_config.gpus);
	cdev_del(&nvsim_cdev);
	class_destroy(nvsim_device_class);
	unregister_chrdev_region(MKDEV(NVSIM_MAJOR, 0), NVSIM_MINORS);
}
