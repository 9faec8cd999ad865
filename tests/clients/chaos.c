// SPDX-License-Identifier: Apache-2.0
/*
 * Random calls of a driver with 535 layouts from several threads that share their files: chaos SEED
 * SECONDS. Numbers, sizes, classes and handles are such that many calls succeed; addresses, pointers
 * and the order are not. Threads map memory, ring doorbells, close files that others use. The process
 * exits 0 when its time is over: what it left is the kernel's to clean up.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ESCAPE(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)
#define SIZE(a)			(sizeof(a) / sizeof((a)[0]))

#define THREADS			4
#define MAX_HANDLES		256
#define MAX_FILES		32

struct shape {
	uint32_t number;
	uint32_t size;
};

static const struct shape escapes[] = {
	{ 0x27, 56 }, { 0x29, 16 }, { 0x2a, 32 }, { 0x2a, 32 }, { 0x2a, 32 }, { 0x2b, 32 },
	{ 0x2b, 32 }, { 0x2b, 48 }, { 0x34, 28 }, { 0x35, 24 }, { 0x4a, 184 }, { 0x4e, 56 },
	{ 0x4f, 32 }, { 0x57, 56 }, { 0x58, 40 }, { 0x5e, 40 }, { 200, 144 }, { 201, 4 },
	{ 206, 16 }, { 207, 16 }, { 209, 12 }, { 210, 72 }, { 212, 8 }, { 214, 8 }, { 215, 560 },
};

static const struct shape controls[] = {
	{ 0x101, 40 }, { 0x202, 40 }, { 0x214, 256 }, { 0x215, 132 }, { 0xd01, 12 }, { 0xd04, 12 },
	{ 0x3d05, 24 }, { 0x3d06, 20 }, { 0x3d08, 76 }, { 0x800201, 16 }, { 0x80170d, 24 },
	{ 0x410110, 16 }, { 0x2080018d, 3812 }, { 0x2080018e, 14408 }, { 0x20801301, 16 },
	{ 0x20801303, 436 }, { 0x20801201, 32 }, { 0x20801218, 16 }, { 0x20802096, 34000 },
	{ 0xa06c0101, 2 }, { 0xa06c0103, 8 }, { 0xa06c0105, 8 }, { 0xc36f0101, 16 },
	{ 0xc36f0108, 4 }, { 0x20800406, 264 },
};

static const uint32_t classes[] = {
	0x41, 0x80, 0x2080, 0x40, 0x40, 0x3e, 0x70, 0x50a0, 0x90f1, 0xa06c, 0x9067, 0xc56f, 0xc56f,
	0xc7c0, 0xc7b5, 0xc461, 0x79, 0x83de, 0x73, 0xcb33,
};

static const uint32_t uvm_calls[] = {
	0x30000001, 75, 37, 38, 25, 26, 27, 28, 23, 24, 73, 33, 66, 34, 68, 72, 39, 42, 51, 65,
};

static const unsigned char uuid[16] = "NVSIM\0\x40\0\x80\0\0\0\0\0\0\x01";

static uint32_t client, device, subdevice;
static _Atomic uint32_t handles[MAX_HANDLES];
static _Atomic unsigned int nr_handles;
static _Atomic int files[MAX_FILES];
static _Atomic unsigned int nr_steps, nr_maps;
static int ctl, gpu, uvm;
static struct timespec end;

static __thread uint64_t state;
static __thread unsigned char area[65536];

static uint32_t any(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 33;
}

static uint32_t below(uint32_t limit)
{
	return any() % limit;
}

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

static uint32_t a_handle(void)
{
	unsigned int nr = nr_handles;

	switch (nr ? below(6) : below(3)) {
	case 0:
		return device;
	case 1:
		return subdevice;
	case 2:
		return client;
	default:
		return handles[below(nr) % MAX_HANDLES];
	}
}

static uint32_t a_word(void)
{
	static const uint32_t some[] = { 0, 1, 2, 3, 8, 0x1000, 0x10000, 0x200000, 0x80000, -1 };

	switch (below(8)) {
	case 0 ... 3:
		return a_handle();
	case 4 ... 5:
		return some[below(SIZE(some))];
	case 6:
		return files[below(MAX_FILES)];
	default:
		return any();
	}
}

static void fill(void *buffer, size_t size)
{
	for (size_t at = 0; at + 4 <= size; at += 4)
		put32(buffer, at, a_word());
}

static void keep(uint32_t handle)
{
	if (handle)
		handles[nr_handles++ % MAX_HANDLES] = handle;
}

/* Parameters of the class that make sense often. */
static void params_of(uint32_t class)
{
	fill(area, 400);
	switch (class) {
	case 0x80:
		memset(area, 0, 56);
		break;
	case 0x2080:
		memset(area, 0, 4);
		break;
	case 0x40:
	case 0x3e:
	case 0x50a0:
		put32(area, 8, class == 0x50a0 ? 0x80000 : 0);
		put32(area, 24, class == 0x3e ? 1 << 25 : 0);
		put64(area, 64, below(1 << 22));
		put32(area, 104, below(2) ? 0 : a_handle());
		break;
	case 0xc56f:
		put64(area, 8, (uint64_t)below(64) << 21);
		put32(area, 16, 64);
		put32(area, 28, below(2) ? 0 : a_handle());
		put32(area, 24, below(2) ? 0 : a_handle());
		put64(area, 64, below(4) << 12);
		break;
	default:
		break;
	}
}

static void alloc(void)
{
	uint32_t class = classes[below(SIZE(classes))];
	unsigned char p[48] = {};
	int wide = below(2);

	params_of(class);
	put32(p, 0, below(16) ? client : a_word());
	put32(p, 4, a_handle());
	put32(p, 8, below(8) ? 0 : a_word());
	put32(p, 12, class);
	put64(p, 16, below(32) ? (uintptr_t)area : any());
	if (ioctl(class == 0x79 && below(2) ? gpu : ctl, ESCAPE(0x2b, wide ? 48 : 32), p) == 0 &&
	    !get32(p, wide ? 40 : 28))
		keep(get32(p, 8));
}

static void control(void)
{
	const struct shape *c = &controls[below(SIZE(controls))];
	unsigned char p[32] = {};

	fill(area, 400);
	for (size_t at = 8; at < 40; at += 8)
		if (below(2))
			put64(area, at, (uintptr_t)area + 0x8000);
	put32(area, 0, below(2) ? below(4) : a_word());
	put32(p, 0, below(16) ? client : a_word());
	put32(p, 4, a_handle());
	put32(p, 8, c->number);
	put64(p, 16, below(32) ? (uintptr_t)area : any());
	put32(p, 24, c->size);
	ioctl(ctl, ESCAPE(0x2a, 32), p);
}

static void heap(void)
{
	unsigned char p[184] = {};

	put32(p, 0, client);
	put32(p, 4, device);
	put32(p, 8, 2 + below(2));
	/* As for FREE: not what everything hangs on. */
	put32(p, 44, below(2) || !nr_handles ? 0 : handles[below(nr_handles) % MAX_HANDLES]);
	put32(p, 48, 1);
	put32(p, 52, below(4) ? 0 : 0x80000);
	put32(p, 56, below(2) << 25);
	put64(p, 88, below(1 << 22));
	if (ioctl(ctl, ESCAPE(0x4a, 184), p) == 0 && !get32(p, 20) && get32(p, 8) == 2)
		keep(get32(p, 44));
}

/* Maps an object through a fresh file, stores into it and leaves or removes it. */
static void map(void)
{
	int fd = open(below(2) ? "/dev/nvidia0" : "/dev/nvidiactl", O_RDWR);
	unsigned char p[56] = {};
	size_t length = 4096 << below(6);
	uint32_t *at;

	if (fd < 0)
		return;
	put32(p, 0, client);
	put32(p, 4, below(2) ? device : subdevice);
	put32(p, 8, a_handle());
	put64(p, 24, length);
	put32(p, 48, fd);
	if (ioctl(ctl, ESCAPE(0x4e, 56), p) == 0 && !get32(p, 40)) {
		at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at != MAP_FAILED) {
			nr_maps++;
			for (size_t i = 0; i < length / 4; i += 1 + below(512))
				__atomic_store_n(&at[i], a_word(), __ATOMIC_RELAXED);
			if (below(8))
				munmap(at, length);
		}
	}
	close(fd);
}

static void uvm_call(void)
{
	unsigned char *p = area;

	fill(p, 1200);
	put64(p, 0, (uint64_t)below(64) << 21);
	put64(p, 8, below(2) ? 1 << 21 : 4096);
	put64(p, 16, 0);
	put64(p, 1176, below(2));
	put32(p, 1188, client);
	if (below(2))
		memcpy(p, uuid, sizeof(uuid));
	else if (below(2))
		memcpy(p + 24, uuid, sizeof(uuid));
	ioctl(uvm, uvm_calls[below(SIZE(uvm_calls))], p);
}

static void some_escape(void)
{
	const struct shape *e = &escapes[below(SIZE(escapes))];
	unsigned char p[560];

	fill(p, e->size);
	put32(p, 0, client);
	/* Without these nothing else would work any more; their end is that of the process. */
	if (e->number == 0x29 &&
	    (get32(p, 8) == client || get32(p, 8) == device || get32(p, 8) == subdevice))
		return;
	if (e->number >= 0x4e && e->number <= 0x5e)
		put32(p, 4, device);
	if (e->number == 0x27 && below(2)) {
		put32(p, 4, device);
		put32(p, 8, 0);
		put32(p, 12, 0x71);
		put32(p, 16, 1 << 30);
		put64(p, 24, ((uintptr_t)area + 4095) & ~4095UL);
		put64(p, 32, 8191);
	}
	ioctl(e->number == 0x27 || !below(8) ? gpu : ctl, ESCAPE(e->number, e->size), p);
}

static void shuffle_files(void)
{
	static const char *const names[] = { "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm" };
	int fd = files[below(MAX_FILES)];

	/* Only what nobody else needs is closed; others may be in a call on it, which is the point. */
	if (fd > 0 && fd != ctl && fd != gpu && fd != uvm)
		close(fd);
	files[below(MAX_FILES)] = open(names[below(SIZE(names))], O_RDWR);
}

static void *run(void *seed)
{
	static void (*const steps[])(void) = {
		alloc, alloc, alloc, control, control, heap, map, uvm_call, uvm_call, some_escape,
		some_escape, some_escape, shuffle_files,
	};
	struct timespec now;

	state = (uintptr_t)seed;
	do {
		for (int i = 0; i < 100; i++)
			steps[below(SIZE(steps))]();
		nr_steps += 100;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	return NULL;
}

static uint32_t need(uint32_t parent, uint32_t class)
{
	unsigned char p[32] = {}, params[56] = {};

	put32(p, 0, client);
	put32(p, 4, parent);
	put32(p, 12, class);
	put64(p, 16, class == 0x41 ? 0 : (uintptr_t)params);
	if (ioctl(ctl, ESCAPE(0x2b, 32), p) || get32(p, 28)) {
		fprintf(stderr, "class 0x%x: status 0x%x\n", class, get32(p, 28));
		exit(1);
	}
	return get32(p, 8);
}

int main(int argc, char **argv)
{
	unsigned char flags[16] = {};
	pthread_t threads[THREADS];

	if (argc != 3) {
		fprintf(stderr, "usage: chaos SEED SECONDS\n");
		return 2;
	}
	ctl = open("/dev/nvidiactl", O_RDWR);
	gpu = open("/dev/nvidia0", O_RDWR);
	uvm = open("/dev/nvidia-uvm", O_RDWR);
	if (ctl < 0 || gpu < 0 || uvm < 0) {
		perror("open");
		return 1;
	}
	client = need(0, 0x41);
	device = need(client, 0x80);
	subdevice = need(device, 0x2080);
	ioctl(gpu, ESCAPE(201, 4), &ctl);
	ioctl(uvm, 0x30000001, flags);

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += atoi(argv[2]);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(atoi(argv[1]) * THREADS + i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("steps %u objects %u maps %u\n", nr_steps, nr_handles, nr_maps);
	return 0;
}
