// SPDX-License-Identifier: Apache-2.0
/*
 * What contexts and channels take of a GPU's memory without any request that names it: a client of
 * the driver makes some, and reads how much less is free. It runs on the host's own nodes, submits
 * no work, and gives everything back by closing its files.
 *
 * Numbers, sizes and offsets are those of 535.288.01; each names NVIDIA's file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "calibrate.h"

/* nv-ioctl-numbers.h, nv_escape.h */
#define ESCAPE(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)
#define ESC_CARD_INFO		200
#define ESC_REGISTER_FD		201
#define ESC_RM_CONTROL		0x2a
#define ESC_RM_ALLOC		0x2b

/* nv-ioctl.h: nv_ioctl_card_info_t */
#define CARD_SIZE		72
#define CARD_DOMAIN		4
#define CARD_BUS		8
#define CARD_SLOT		9
#define CARD_GPU_ID		16
#define CARD_MINOR		56
#define CARDS			32

/* class/cl*.h */
#define CLASS_ROOT		0x41
#define CLASS_DEVICE		0x80
#define CLASS_SUBDEVICE		0x2080
#define CLASS_VASPACE		0x90f1
#define CLASS_MEMORY_LOCAL	0x40
#define CLASS_CHANNEL_GROUP	0xa06c

/* A GPU has one class of channel and one of compute; their low bytes stay from Volta on. */
#define CLASS_OLDEST		0xc300
#define CLASS_CHANNEL_LOW	0x6f
#define CLASS_COMPUTE_LOW	0xc0

/* ctrl0000gpu.h, ctrl0080gpu.h, ctrl2080fb.h */
#define CONTROL_ID_INFO		0x0205
#define CONTROL_CLASSLIST	0x800201
#define CONTROL_FB_INFO		0x20801303
#define FB_INFO_SIZE		436
#define FB_INFO_HEAP_FREE	0x16

#define ENGINE_GRAPHICS		1	/* cl2080_notification.h: NV2080_ENGINE_TYPE_GR0 */
#define USERD_SIZE		512	/* dev_ram.h: NV_RAMUSERD_CHAN_SIZE */
#define MAX_CLASSES		512

/* Our own handles. */
#define H_ROOT			0xcafe0000
#define H_DEVICE		0xcafe0001
#define H_SUBDEVICE		0xcafe0002
#define H_VASPACE		0xcafe0003
#define H_USERD			0xcafe0004
#define H_GROUP			0xcafe0005
#define H_COMPUTE		0xcafe0006
#define H_CHANNEL		0xcafe0100

/* Memory is handed out in pages of up to 2 MiB: with many channels the rounding matters less. */
#define CHANNELS		32

struct client {
	int ctl;
	int gpu;
	struct vgpu_calibration *out;
};

static void put32(void *buffer, size_t offset, uint32_t value)
{
	memcpy((char *)buffer + offset, &value, sizeof(value));
}

static void put64(void *buffer, size_t offset, uint64_t value)
{
	memcpy((char *)buffer + offset, &value, sizeof(value));
}

static uint32_t get32(const void *buffer, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)buffer + offset, sizeof(value));
	return value;
}

static int failed(struct client *client, const char *step, uint32_t status)
{
	snprintf(client->out->step, sizeof(client->out->step), "%s", step);
	client->out->status = status;
	return status ? -EREMOTEIO : -errno;
}

/* nvos.h: NVOS21_PARAMETERS */
static int rm_alloc(struct client *client, const char *step, uint32_t parent, uint32_t handle,
		    uint32_t class, void *params, uint32_t size)
{
	char arg[32] = { 0 };

	put32(arg, 0, H_ROOT);
	put32(arg, 4, parent);
	put32(arg, 8, handle);
	put32(arg, 12, class);
	put64(arg, 16, (uintptr_t)params);
	put32(arg, 24, size);
	if (ioctl(client->ctl, ESCAPE(ESC_RM_ALLOC, sizeof(arg)), arg) < 0)
		return failed(client, step, 0);
	return get32(arg, 28) ? failed(client, step, get32(arg, 28)) : 0;
}

/* nvos.h: NVOS54_PARAMETERS */
static int rm_control(struct client *client, const char *step, uint32_t object, uint32_t cmd,
		      void *params, uint32_t size)
{
	char arg[32] = { 0 };

	put32(arg, 0, H_ROOT);
	put32(arg, 4, object);
	put32(arg, 8, cmd);
	put64(arg, 16, (uintptr_t)params);
	put32(arg, 24, size);
	if (ioctl(client->ctl, ESCAPE(ESC_RM_CONTROL, sizeof(arg)), arg) < 0)
		return failed(client, step, 0);
	return get32(arg, 28) ? failed(client, step, get32(arg, 28)) : 0;
}

/* The figure is in KiB. */
static int heap_free(struct client *client, uint64_t *bytes)
{
	char params[FB_INFO_SIZE] = { 0 };
	int ret;

	put32(params, 0, 1);
	put32(params, 4, FB_INFO_HEAP_FREE);
	ret = rm_control(client, "free memory", H_SUBDEVICE, CONTROL_FB_INFO, params,
			 sizeof(params));
	*bytes = (uint64_t)get32(params, 8) << 10;
	return ret;
}

static int open_files(struct client *client, const struct vgpu_pci *pci, uint32_t *gpu_id)
{
	unsigned char cards[CARDS * CARD_SIZE] = { 0 };
	const unsigned char *card;
	char path[32];
	int i;

	client->ctl = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
	if (client->ctl < 0)
		return failed(client, "open /dev/nvidiactl", 0);
	if (ioctl(client->ctl, ESCAPE(ESC_CARD_INFO, sizeof(cards)), cards) < 0)
		return failed(client, "list of GPUs", 0);
	for (i = 0; i < CARDS; i++) {
		card = cards + i * CARD_SIZE;
		if (card[0] && get32(card, CARD_DOMAIN) == pci->domain &&
		    card[CARD_BUS] == pci->bus && card[CARD_SLOT] == pci->slot)
			break;
	}
	errno = ENODEV;
	if (i == CARDS)
		return failed(client, "list of GPUs", 0);
	*gpu_id = get32(card, CARD_GPU_ID);
	snprintf(path, sizeof(path), "/dev/nvidia%u", get32(card, CARD_MINOR));
	client->gpu = open(path, O_RDWR | O_CLOEXEC);
	if (client->gpu < 0 ||
	    ioctl(client->gpu, ESCAPE(ESC_REGISTER_FD, sizeof(client->ctl)), &client->ctl) < 0)
		return failed(client, "open the GPU's node", 0);
	return 0;
}

/* Everything down to the address space, and the memory of the channels' USERD. */
static int prepare(struct client *client, uint32_t gpu_id)
{
	char id_info[32] = { 0 };	/* NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS */
	char device[56] = { 0 };	/* NV0080_ALLOC_PARAMETERS */
	char subdevice[4] = { 0 };	/* NV2080_ALLOC_PARAMETERS */
	char vaspace[48] = { 0 };	/* NV_VASPACE_ALLOCATION_PARAMETERS */
	char memory[120] = { 0 };	/* NV_MEMORY_ALLOCATION_PARAMS */
	int ret;

	ret = rm_alloc(client, "client", H_ROOT, H_ROOT, CLASS_ROOT, NULL, 0);
	if (ret)
		return ret;
	put32(id_info, 0, gpu_id);
	ret = rm_control(client, "number of the GPU", H_ROOT, CONTROL_ID_INFO, id_info,
			 sizeof(id_info));
	if (ret)
		return ret;
	put32(device, 0, get32(id_info, 8));
	ret = rm_alloc(client, "device", H_ROOT, H_DEVICE, CLASS_DEVICE, device, sizeof(device));
	if (ret)
		return ret;
	put32(subdevice, 0, get32(id_info, 12));
	ret = rm_alloc(client, "subdevice", H_DEVICE, H_SUBDEVICE, CLASS_SUBDEVICE, subdevice,
		       sizeof(subdevice));
	if (ret)
		return ret;
	ret = rm_alloc(client, "address space", H_DEVICE, H_VASPACE, CLASS_VASPACE, vaspace,
		       sizeof(vaspace));
	if (ret)
		return ret;
	put32(memory, 0, H_ROOT);
	put64(memory, 64, CHANNELS * USERD_SIZE);
	return rm_alloc(client, "memory", H_DEVICE, H_USERD, CLASS_MEMORY_LOCAL, memory,
			sizeof(memory));
}

/* NV0080_CTRL_GPU_GET_CLASSLIST_PARAMS, 16 bytes: count, pointer */
static int find_classes(struct client *client, uint32_t *channel, uint32_t *compute)
{
	uint32_t classes[MAX_CLASSES] = { 0 };
	char params[16] = { 0 };
	uint32_t i, count;
	int ret;

	put32(params, 0, MAX_CLASSES);
	put64(params, 8, (uintptr_t)classes);
	ret = rm_control(client, "list of classes", H_DEVICE, CONTROL_CLASSLIST, params,
			 sizeof(params));
	if (ret)
		return ret;
	count = get32(params, 0);
	*channel = 0;
	*compute = 0;
	for (i = 0; i < count && i < MAX_CLASSES; i++) {
		if (classes[i] < CLASS_OLDEST || classes[i] > 0xffff)
			continue;
		if ((classes[i] & 0xff) == CLASS_CHANNEL_LOW && classes[i] > *channel)
			*channel = classes[i];
		if ((classes[i] & 0xff) == CLASS_COMPUTE_LOW && classes[i] > *compute)
			*compute = classes[i];
	}
	errno = ENOTSUP;
	return *channel && *compute ? 0 : failed(client, "list of classes", 0);
}

/* alloc_channel.h: NV_CHANNEL_ALLOC_PARAMS, 360 bytes. No work is submitted, so the ring of a
 * channel need not be mapped where it says.
 */
static int make_channels(struct client *client, uint32_t class)
{
	char group[20] = { 0 };		/* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
	uint32_t i;
	int ret;

	put32(group, 8, H_VASPACE);
	put32(group, 12, ENGINE_GRAPHICS);
	ret = rm_alloc(client, "channel group", H_DEVICE, H_GROUP, CLASS_CHANNEL_GROUP, group,
		       sizeof(group));
	for (i = 0; i < CHANNELS && !ret; i++) {
		char params[360] = { 0 };

		put64(params, 8, (uint64_t)(i + 1) << 21);
		put32(params, 16, 1024);
		put32(params, 32, H_USERD);
		put64(params, 64, i * USERD_SIZE);
		put32(params, 128, ENGINE_GRAPHICS);
		ret = rm_alloc(client, "channel", H_GROUP, H_CHANNEL + i, class, params,
			       sizeof(params));
	}
	return ret;
}

static int measure(struct client *client, const struct vgpu_pci *pci)
{
	uint64_t before, between, after;
	char compute_params[16] = { 0 };	/* nvos.h: NV_GR_ALLOCATION_PARAMETERS */
	uint32_t channel, compute, gpu_id;
	int ret;

	ret = open_files(client, pci, &gpu_id);
	if (!ret)
		ret = prepare(client, gpu_id);
	if (!ret)
		ret = find_classes(client, &channel, &compute);
	if (!ret)
		ret = heap_free(client, &before);
	if (!ret)
		ret = make_channels(client, channel);
	if (!ret)
		ret = heap_free(client, &between);
	if (!ret)
		ret = rm_alloc(client, "compute object", H_CHANNEL, H_COMPUTE, compute,
			       compute_params, sizeof(compute_params));
	if (!ret)
		ret = heap_free(client, &after);
	if (ret)
		return ret;
	errno = EAGAIN;
	if (between > before || after > between)
		return failed(client, "other programs give memory back meanwhile", 0);
	client->out->channel_bytes = (before - between + CHANNELS - 1) / CHANNELS;
	client->out->context_bytes = between - after;
	return 0;
}

int vgpu_calibrate(const struct vgpu_pci *pci, struct vgpu_calibration *out)
{
	struct client client = { .ctl = -1, .gpu = -1, .out = out };
	int ret;

	memset(out, 0, sizeof(*out));
	ret = measure(&client, pci);
	if (client.gpu >= 0)
		close(client.gpu);
	if (client.ctl >= 0)
		close(client.ctl);
	return ret;
}
