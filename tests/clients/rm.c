// SPDX-License-Identifier: Apache-2.0
/*
 * A client of the driver that makes raw calls, small and static, so that it can be started and killed
 * hundreds of times: rm [-g GPU] STEP...
 *
 *	alloc:BYTES[:COUNT]	device memory by RM_ALLOC
 *	heap:BYTES[:COUNT]	device memory by VID_HEAP_CONTROL
 *	fill:BYTES		heap until it is refused
 *	dup[:COUNT]		RM_DUP_OBJECT of the last memory object
 *	free			frees every memory object, last one first
 *	cycle:BYTES:COUNT	alloc and free
 *	channels:COUNT		channels in a group of their own
 *	compute:COUNT		compute objects, one a channel, channels made as needed
 *	info			size and free memory as the driver says
 *	device			another device and subdevice
 *	hold			waits for ever
 *
 * Each step prints a JSON object in a line: what was done and the status of the first call that failed.
 * The exit code is 0 when no system call failed; a refusal by status is no failure. Sizes may end in K, M
 * or G. Numbers and offsets are those of 535.288.01 (nv_escape.h, nvos.h, alloc_channel.h, class/cl*.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ESCAPE(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)

#define CLASS_ROOT		0x41
#define CLASS_MEMORY		0x40
#define CLASS_DEVICE		0x80
#define CLASS_SUBDEVICE		0x2080
#define CLASS_VASPACE		0x90f1
#define CLASS_GROUP		0xa06c
#define CLASS_CHANNEL		0xc56f
#define CLASS_COMPUTE		0xc7c0

#define CONTROL_PROBED_IDS	0x214
#define CONTROL_ID_INFO		0x205
#define CONTROL_FB_INFO		0x20801303

#define FB_TOTAL		0x08
#define FB_FREE			0x16

#define MAX_OBJECTS		(1 << 20)

static int ctl = -1;
static uint32_t root, device, subdevice, vaspace, userd, group;
static uint32_t next_handle = 0xca000000;
static uint32_t *memory;
static unsigned int nr_memory, nr_channels, nr_compute;
static uint32_t channels[4096];

static void put32(void *buffer, size_t at, uint32_t value)
{
	memcpy((char *)buffer + at, &value, sizeof(value));
}

static void put64(void *buffer, size_t at, uint64_t value)
{
	memcpy((char *)buffer + at, &value, sizeof(value));
}

static uint32_t get32(const void *buffer, size_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)buffer + at, sizeof(value));
	return value;
}

static void fail(const char *what)
{
	printf("{\"failed\": \"%s\", \"errno\": %d, \"error\": \"%s\"}\n", what, errno,
	       strerror(errno));
	fflush(stdout);
	exit(1);
}

static void escape(int nr, void *arg, size_t size)
{
	if (ioctl(ctl, ESCAPE(nr, size), arg) < 0)
		fail("ioctl");
}

/* NVOS21_PARAMETERS */
static uint32_t rm_alloc(uint32_t parent, uint32_t handle, uint32_t class, void *params, size_t size)
{
	char arg[32] = { 0 };

	put32(arg, 0, root);
	put32(arg, 4, parent);
	put32(arg, 8, handle);
	put32(arg, 12, class);
	put64(arg, 16, (uintptr_t)params);
	put32(arg, 24, size);
	escape(0x2b, arg, sizeof(arg));
	if (class == CLASS_ROOT)
		root = get32(arg, 8);
	return get32(arg, 28);
}

/* NVOS54_PARAMETERS */
static uint32_t rm_control(uint32_t object, uint32_t cmd, void *params, size_t size)
{
	char arg[32] = { 0 };

	put32(arg, 0, root);
	put32(arg, 4, object);
	put32(arg, 8, cmd);
	put64(arg, 16, (uintptr_t)params);
	put32(arg, 24, size);
	escape(0x2a, arg, sizeof(arg));
	return get32(arg, 28);
}

/* NVOS00_PARAMETERS */
static uint32_t rm_free(uint32_t parent, uint32_t handle)
{
	char arg[16] = { 0 };

	put32(arg, 0, root);
	put32(arg, 4, parent);
	put32(arg, 8, handle);
	escape(0x29, arg, sizeof(arg));
	return get32(arg, 12);
}

/* NV_MEMORY_ALLOCATION_PARAMS */
static uint32_t memory_alloc(uint32_t handle, uint64_t bytes)
{
	char params[120] = { 0 };

	put32(params, 0, root);
	put64(params, 64, bytes);
	return rm_alloc(device, handle, CLASS_MEMORY, params, sizeof(params));
}

/* NVOS32_PARAMETERS: function ALLOC_SIZE with the caller's handle */
static uint32_t heap_alloc(uint32_t handle, uint64_t bytes)
{
	char arg[184] = { 0 };

	put32(arg, 0, root);
	put32(arg, 4, device);
	put32(arg, 8, 2);
	put32(arg, 40, root);
	put32(arg, 44, handle);
	put32(arg, 52, 0x4000);
	put64(arg, 88, bytes);
	escape(0x4a, arg, sizeof(arg));
	return get32(arg, 20);
}

/* NVOS55_PARAMETERS */
static uint32_t memory_dup(uint32_t handle, uint32_t source)
{
	char arg[28] = { 0 };

	put32(arg, 0, root);
	put32(arg, 4, device);
	put32(arg, 8, handle);
	put32(arg, 12, root);
	put32(arg, 16, source);
	escape(0x34, arg, sizeof(arg));
	return get32(arg, 24);
}

static uint32_t open_device(uint32_t instance)
{
	char params[56] = { 0 };
	char sub[4] = { 0 };
	uint32_t status;

	device = next_handle++;
	subdevice = next_handle++;
	put32(params, 0, instance);
	status = rm_alloc(root, device, CLASS_DEVICE, params, sizeof(params));
	if (!status)
		status = rm_alloc(device, subdevice, CLASS_SUBDEVICE, sub, sizeof(sub));
	return status;
}

static uint32_t instance_of(unsigned int gpu)
{
	char ids[256] = { 0 };
	char info[32] = { 0 };

	if (rm_control(root, CONTROL_PROBED_IDS, ids, sizeof(ids)))
		fail("probed ids");
	put32(info, 0, get32(ids, gpu * 4));
	if (rm_control(root, CONTROL_ID_INFO, info, sizeof(info)))
		fail("id info");
	return get32(info, 8);
}

static void open_all(unsigned int gpu)
{
	char path[32];
	int node;

	ctl = open("/dev/nvidiactl", O_RDWR);
	if (ctl < 0)
		fail("open nvidiactl");
	snprintf(path, sizeof(path), "/dev/nvidia%u", gpu);
	node = open(path, O_RDWR);
	if (node < 0 || ioctl(node, ESCAPE(201, sizeof(ctl)), &ctl) < 0)
		fail("open gpu");
	if (rm_alloc(0, 0, CLASS_ROOT, NULL, 0))
		fail("client");
	if (open_device(instance_of(gpu)))
		fail("device");
}

static uint32_t channel_alloc(void)
{
	char params[360] = { 0 };
	uint32_t handle = next_handle++;
	uint32_t status = 0;

	if (nr_channels == sizeof(channels) / sizeof(channels[0]))
		return 0x1a;
	if (!vaspace) {
		char space[48] = { 0 };

		vaspace = next_handle++;
		userd = next_handle++;
		status = rm_alloc(device, vaspace, CLASS_VASPACE, space, sizeof(space));
		if (!status)
			status = memory_alloc(userd, 2 << 20);
		if (status)
			return status;
	}
	if (!group) {
		char tsg[20] = { 0 };

		group = next_handle++;
		put32(tsg, 8, vaspace);
		put32(tsg, 12, 1);
		status = rm_alloc(device, group, CLASS_GROUP, tsg, sizeof(tsg));
		if (status)
			return status;
	}
	put64(params, 8, (uint64_t)(nr_channels + 1) << 21);
	put32(params, 16, 1024);
	put32(params, 32, userd);
	put64(params, 64, nr_channels * 512);
	put32(params, 128, 1);
	status = rm_alloc(group, handle, CLASS_CHANNEL, params, sizeof(params));
	if (!status)
		channels[nr_channels++] = handle;
	return status;
}

static uint32_t compute_alloc(void)
{
	char params[16] = { 0 };
	uint32_t status = 0;

	if (nr_compute == nr_channels)
		status = channel_alloc();
	if (!status)
		status = rm_alloc(channels[nr_compute], next_handle++, CLASS_COMPUTE, params,
				  sizeof(params));
	if (!status)
		nr_compute++;
	return status;
}

static void print_info(void)
{
	char params[436] = { 0 };

	put32(params, 0, 2);
	put32(params, 4, FB_TOTAL);
	put32(params, 12, FB_FREE);
	if (rm_control(subdevice, CONTROL_FB_INFO, params, sizeof(params)))
		fail("fb info");
	printf("{\"step\": \"info\", \"total\": %llu, \"free\": %llu}\n",
	       (unsigned long long)get32(params, 8) << 10,
	       (unsigned long long)get32(params, 16) << 10);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	switch (*end) {
	case 'G':
		value <<= 10;
		/* fall through */
	case 'M':
		value <<= 10;
		/* fall through */
	case 'K':
		value <<= 10;
	}
	return value;
}

static uint32_t one(const char *name, uint64_t bytes)
{
	uint32_t handle = next_handle++;
	uint32_t status;

	if (nr_memory == MAX_OBJECTS)
		return 0x1a;
	if (!strcmp(name, "alloc"))
		status = memory_alloc(handle, bytes);
	else if (!strcmp(name, "dup"))
		status = nr_memory ? memory_dup(handle, memory[nr_memory - 1]) : 0x57;
	else
		status = heap_alloc(handle, bytes);
	if (!status)
		memory[nr_memory++] = handle;
	return status;
}

static void step(char *text)
{
	char *first = strchr(text, ':');
	char *second = first ? strchr(first + 1, ':') : NULL;
	uint64_t a = first ? number(first + 1) : 0;
	uint64_t b = second ? number(second + 1) : 1;
	uint64_t done = 0;
	uint32_t status = 0;

	if (first)
		*first = 0;
	if (!strcmp(text, "info")) {
		print_info();
		return;
	}
	if (!strcmp(text, "alloc") || !strcmp(text, "heap")) {
		while (done < b && !(status = one(text, a)))
			done++;
	} else if (!strcmp(text, "dup")) {
		while (done < (first ? a : 1) && !(status = one(text, 0)))
			done++;
	} else if (!strcmp(text, "fill")) {
		while (!(status = one(text, a)))
			done++;
	} else if (!strcmp(text, "free")) {
		while (nr_memory && !(status = rm_free(device, memory[nr_memory - 1]))) {
			nr_memory--;
			done++;
		}
	} else if (!strcmp(text, "cycle")) {
		while (done < b && !(status = memory_alloc(next_handle, a)) &&
		       !(status = rm_free(device, next_handle)))
			done++;
	} else if (!strcmp(text, "channels")) {
		while (done < a && !(status = channel_alloc()))
			done++;
	} else if (!strcmp(text, "compute")) {
		while (done < a && !(status = compute_alloc()))
			done++;
	} else if (!strcmp(text, "device")) {
		status = open_device(0);
		done = !status;
	} else if (strcmp(text, "hold")) {
		errno = EINVAL;
		fail(text);
	}
	printf("{\"step\": \"%s\", \"done\": %llu, \"status\": %u}\n", text,
	       (unsigned long long)done, status);
	fflush(stdout);
	if (!strcmp(text, "hold"))
		for (;;)
			pause();
}

int main(int argc, char **argv)
{
	unsigned int gpu = 0;
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "-g")) {
		gpu = atoi(argv[2]);
		i = 3;
	}
	memory = malloc(MAX_OBJECTS * sizeof(*memory));
	if (!memory)
		fail("malloc");
	open_all(gpu);
	for (; i < argc; i++)
		step(argv[i]);
	return 0;
}
