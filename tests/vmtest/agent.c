// SPDX-License-Identifier: Apache-2.0
/*
 * PID 1 of a test guest. It loads the modules that the root file system needs, lays the squashfs
 * layers under a tmpfs, makes that the real root, and then runs what the host asks for over a
 * virtio-serial port. Statically linked: it is the whole initramfs.
 *
 * Frames, both ways: struct frame_header, then `length` bytes.
 *   host to guest: R run, I standard input (empty: end of file), K signal, W window size, T clock
 *   guest to host: H hello, O and E output, X wait status, D kernel log record, F failure text
 * The verdict of a command is the X frame. No X frame before end of file: the guest is lost.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT_NAME	"vmtest.agent"
#define MAX_JOBS	64
#define MAX_PAYLOAD	65536

struct frame_header {
	uint32_t length;
	uint32_t job;
	uint32_t type;
};

struct job {
	uint32_t id;
	pid_t pid;		/* 0: the slot is free */
	int out, err, in;	/* -1: closed; a terminal has out == in */
	int tty;
	int ended, status;
	int in_eof;		/* close `in` once the queue is empty */
	char *queue;		/* input that the child has not read yet */
	size_t queued;
};

static struct job jobs[MAX_JOBS];
static int port = -1;
static int kmsg = -1;

static void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "agent: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	fflush(stderr);
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void do_mount(const char *source, const char *target, const char *type,
		     unsigned long flags, const char *options, int optional)
{
	mkdir(target, 0755);
	if (mount(source, target, type, flags, options) && !optional)
		die("mount %s on %s", source, target);
}

/* -- boot ------------------------------------------------------------------------------------ */

static void load_modules(void)
{
	char path[512];
	FILE *list = fopen("/modules.list", "r");

	if (!list)
		die("/modules.list");
	while (fgets(path, sizeof(path), list)) {
		int fd;

		path[strcspn(path, "\n")] = 0;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("open %s", path);
		if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
			die("finit_module %s", path);
		close(fd);
	}
	fclose(list);
}

/* Finds /dev/vportNpM by the name that QEMU gave it; there is no udev to make the link. */
static int open_port(void)
{
	struct dirent *entry;
	int fd = -1;
	DIR *dir = opendir("/sys/class/virtio-ports");

	while (dir && fd < 0 && (entry = readdir(dir))) {
		char path[512], name[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = 0;
		fclose(file);
		if (strcmp(name, PORT_NAME))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/* The port is announced by a uevent some time after its driver is loaded. */
static int wait_for_port(int uevents)
{
	for (;;) {
		char event[4096];
		int fd = open_port();

		if (fd >= 0)
			return fd;
		if (recv(uevents, event, sizeof(event), 0) < 0 && errno != ENOBUFS)
			die("uevent");
	}
}

static int open_uevents(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)))
		die("uevent socket");
	return fd;
}

/*
 * Later layers cover earlier ones. The root is moved, not only chrooted into: setns() and the
 * kernel's own helpers go by the root of the mount namespace.
 */
static void enter_root(void)
{
	const char *count = getenv("VMTEST_LAYERS");
	char options[1024] = "upperdir=/upper/u,workdir=/upper/w,lowerdir=";
	int i;

	for (i = 0; i < (count ? atoi(count) : 1); i++) {
		char device[32], target[32];

		snprintf(device, sizeof(device), "/dev/vd%c", 'a' + i);
		snprintf(target, sizeof(target), "/layer%d", i);
		do_mount(device, target, "squashfs", MS_RDONLY, "", 0);
	}
	while (i--) {
		char name[32];

		snprintf(name, sizeof(name), "/layer%d%s", i, i ? ":" : "");
		strcat(options, name);
	}
	do_mount("upper", "/upper", "tmpfs", 0, "size=80%", 0);
	mkdir("/upper/u", 0755);
	mkdir("/upper/w", 0755);
	do_mount("root", "/root", "overlay", 0, options, 0);
	umount2("/dev", MNT_DETACH);
	umount2("/proc", MNT_DETACH);
	umount2("/sys", MNT_DETACH);
	if (chdir("/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		die("move root");
}

static void mount_system(void)
{
	do_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "", 0);
	do_mount("sys", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "", 0);
	do_mount("dev", "/dev", "devtmpfs", MS_NOSUID, "mode=755", 0);
}

static void mount_more(void)
{
	do_mount("devpts", "/dev/pts", "devpts", 0, "mode=620,ptmxmode=666,gid=5", 0);
	do_mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", 0);
	do_mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755", 0);
	do_mount("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", 0);
	do_mount("vartmp", "/var/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", 0);
	do_mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, "", 1);
	do_mount("debugfs", "/sys/kernel/debug", "debugfs", 0, "", 1);
	do_mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "", 1);
	do_mount("securityfs", "/sys/kernel/security", "securityfs", 0, "", 1);
	do_mount("bpf", "/sys/fs/bpf", "bpf", 0, "", 1);
	symlink("/proc/self/fd", "/dev/fd");
	symlink("fd/0", "/dev/stdin");
	symlink("fd/1", "/dev/stdout");
	symlink("fd/2", "/dev/stderr");
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (!ioctl(fd, SIOCGIFFLAGS, &request)) {
		request.ifr_flags |= IFF_UP;
		ioctl(fd, SIOCSIFFLAGS, &request);
	}
	close(fd);
}

/* -- frames ---------------------------------------------------------------------------------- */

static void write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {	/* the host is gone */
			reboot(RB_POWER_OFF);
			_exit(1);
		}
		at += n;
		length -= n;
	}
}

static void send_frame(char type, uint32_t job, const void *data, size_t length)
{
	static char buffer[sizeof(struct frame_header) + MAX_PAYLOAD];
	struct frame_header header = { .length = length, .job = job, .type = type };

	memcpy(buffer, &header, sizeof(header));
	memcpy(buffer + sizeof(header), data, length);
	write_all(port, buffer, sizeof(header) + length);
}

static void read_all(int fd, void *data, size_t length)
{
	char *at = data;

	while (length) {
		ssize_t n = read(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			reboot(RB_POWER_OFF);
			_exit(1);
		}
		at += n;
		length -= n;
	}
}

static void forward_kernel_log(void)
{
	char record[8192];

	for (;;) {
		ssize_t n = read(kmsg, record, sizeof(record));

		if (n > 0)
			send_frame('D', 0, record, n);
		else if (n == 0 || (errno != EPIPE && errno != EINTR))	/* EPIPE: some were lost */
			return;
	}
}

/* -- jobs ------------------------------------------------------------------------------------ */

static struct job *find_job(uint32_t id)
{
	for (int i = 0; i < MAX_JOBS; i++)
		if (jobs[i].pid && jobs[i].id == id)
			return &jobs[i];
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void fail(uint32_t id, const char *what)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

	send_frame('F', id, text, n);
}

static void in_child(int in, int out, int err, int tty, const char *cwd, char **argv, char **envp)
{
	sigset_t none;

	setsid();
	if (tty)
		ioctl(in, TIOCSCTTY, 0);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	close_range(3, ~0U, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (chdir(cwd)) {
		fprintf(stderr, "agent: %s: %s\n", cwd, strerror(errno));
		_exit(127);
	}
	environ = envp;
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Payload: flags, working directory, number of arguments, arguments, environment, each with NUL. */
static void run_job(uint32_t id, char *payload, size_t length)
{
	char *words[MAX_PAYLOAD / 8] = { NULL };
	char *end = payload + length;
	size_t count = 0, argc;
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	struct job *job = NULL;
	char **envp;
	int tty;

	for (char *at = payload; at < end && count < MAX_PAYLOAD / 8 - 2; at += strlen(at) + 1)
		words[count++] = at;
	argc = count > 3 ? strtoul(words[2], NULL, 10) : 0;
	if (!argc || 3 + argc > count || payload[length - 1]) {
		errno = EINVAL;
		fail(id, "run");
		return;
	}
	for (int i = 0; i < MAX_JOBS && !job; i++)
		if (!jobs[i].pid)
			job = &jobs[i];
	if (!job) {
		errno = EAGAIN;
		fail(id, "run");
		return;
	}
	memset(job, 0, sizeof(*job));

	tty = !!strchr(words[0], 't');
	if (tty) {
		int master = open("/dev/ptmx", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		int number, unlock = 0;
		char path[32];

		if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) ||
		    ioctl(master, TIOCGPTN, &number)) {
			fail(id, "pty");
			return;
		}
		snprintf(path, sizeof(path), "/dev/pts/%d", number);
		in[0] = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
		out[1] = err[1] = in[0];
		out[0] = in[1] = master;
	} else {
		if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
			fail(id, "pipe");
			return;
		}
		if (strchr(words[0], 'i')) {
			if (pipe2(in, O_CLOEXEC)) {
				fail(id, "pipe");
				return;
			}
			fcntl(in[1], F_SETFL, O_NONBLOCK);
		} else {
			in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		}
		fcntl(out[0], F_SETFL, O_NONBLOCK);
		fcntl(err[0], F_SETFL, O_NONBLOCK);
	}

	/* argv ends with a NULL of its own: the environment starts one word further. */
	memmove(&words[3 + argc + 1], &words[3 + argc], (count - 3 - argc) * sizeof(words[0]));
	words[3 + argc] = NULL;
	envp = &words[3 + argc + 1];
	words[count + 1] = NULL;

	job->id = id;
	job->tty = tty;
	job->in = in[1];
	job->out = out[0];
	job->err = tty ? -1 : err[0];
	job->pid = fork();
	if (job->pid == 0)
		in_child(in[0], out[1], err[1], tty, words[1], &words[3], envp);
	if (job->pid < 0) {
		job->pid = 0;
		fail(id, "fork");
	}
	close(in[0]);
	if (!tty) {
		close(out[1]);
		close(err[1]);
	}
}

/* Returns 1 while there was something. */
static int forward_output(struct job *job, int *fd, char type)
{
	static char buffer[MAX_PAYLOAD];
	ssize_t n;

	if (*fd < 0)
		return 0;
	n = read(*fd, buffer, sizeof(buffer));
	if (n > 0) {
		send_frame(type, job->id, buffer, n);
		return 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (job->tty && fd == &job->out)
		job->in = -1;	/* the same file */
	close_fd(fd);
	return 0;
}

static void push_input(struct job *job)
{
	while (job->queued && job->in >= 0) {
		ssize_t n = write(job->in, job->queue, job->queued);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {	/* the child does not read any more */
			job->queued = 0;
			if (!job->tty)
				close_fd(&job->in);
			return;
		}
		memmove(job->queue, job->queue + n, job->queued - n);
		job->queued -= n;
	}
	if (job->in_eof && !job->tty)
		close_fd(&job->in);
}

static void add_input(struct job *job, const char *data, size_t length)
{
	if (!length) {
		job->in_eof = 1;
	} else if (job->in >= 0) {
		job->queue = realloc(job->queue, job->queued + length);
		if (!job->queue)
			die("input");
		memcpy(job->queue + job->queued, data, length);
		job->queued += length;
	}
	push_input(job);
}

/* What the command wrote comes before its status; what its orphans write later is not waited for. */
static void end_job(struct job *job)
{
	while (forward_output(job, &job->out, 'O') || forward_output(job, &job->err, 'E'))
		;
	forward_kernel_log();
	send_frame('X', job->id, &job->status, sizeof(job->status));
	if (!job->tty)
		close_fd(&job->in);
	close_fd(&job->out);
	close_fd(&job->err);
	free(job->queue);
	memset(job, 0, sizeof(*job));
}

static void reap(int signals)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < MAX_JOBS; i++) {
			if (jobs[i].pid == pid) {
				jobs[i].status = status;
				end_job(&jobs[i]);
			}
		}
	}
}

static void handle_frame(void)
{
	static char payload[MAX_PAYLOAD + 1];
	struct frame_header header;
	struct job *job;

	read_all(port, &header, sizeof(header));
	if (header.length > MAX_PAYLOAD) {
		errno = EMSGSIZE;
		die("frame");
	}
	read_all(port, payload, header.length);
	payload[header.length] = 0;
	job = find_job(header.job);
	switch (header.type) {
	case 'R':
		run_job(header.job, payload, header.length);
		break;
	case 'I':
		if (job)
			add_input(job, payload, header.length);
		break;
	case 'K':	/* the payload is "SIGNAL" for the process, "-SIGNAL" for its whole group */
		if (job && payload[0] == '-')
			kill(-job->pid, atoi(payload + 1));
		else if (job)
			kill(job->pid, atoi(payload));
		break;
	case 'W':
		if (job && job->tty && job->out >= 0) {
			struct winsize size = { 0 };

			sscanf(payload, "%hu %hu", &size.ws_row, &size.ws_col);
			ioctl(job->out, TIOCSWINSZ, &size);
		}
		break;
	case 'T': {
		struct timespec now = { 0 };

		sscanf(payload, "%ld.%9ld", &now.tv_sec, &now.tv_nsec);
		clock_settime(CLOCK_REALTIME, &now);
		break;
	}
	}
}

static void serve(int signals)
{
	for (;;) {
		struct pollfd fds[3 + 3 * MAX_JOBS] = {
			{ .fd = port, .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
			{ .fd = kmsg, .events = POLLIN },
		};

		for (int i = 0; i < MAX_JOBS; i++) {
			struct job *job = &jobs[i];
			struct pollfd *at = &fds[3 + 3 * i];

			at[0] = (struct pollfd){ .fd = job->pid ? job->out : -1, .events = POLLIN };
			at[1] = (struct pollfd){ .fd = job->pid ? job->err : -1, .events = POLLIN };
			at[2] = (struct pollfd){ .fd = job->pid && job->queued ? job->in : -1,
						 .events = POLLOUT };
		}
		if (poll(fds, 3 + 3 * MAX_JOBS, -1) < 0)
			continue;
		for (int i = 0; i < MAX_JOBS; i++) {
			struct job *job = &jobs[i];
			struct pollfd *at = &fds[3 + 3 * i];

			if (at[0].revents)
				forward_output(job, &job->out, 'O');
			if (at[1].revents)
				forward_output(job, &job->err, 'E');
			if (at[2].revents)
				push_input(job);
		}
		if (fds[2].revents)
			forward_kernel_log();
		if (fds[1].revents)
			reap(signals);
		if (fds[0].revents & POLLIN) {
			handle_frame();
		} else if (fds[0].revents & (POLLHUP | POLLERR)) {	/* the host is gone */
			reboot(RB_POWER_OFF);
			_exit(1);
		}
	}
}

int main(void)
{
	sigset_t mask;
	int signals, uevents;

	umask(022);
	signal(SIGPIPE, SIG_IGN);
	mount_system();
	uevents = open_uevents();
	load_modules();
	port = wait_for_port(uevents);
	close(uevents);
	enter_root();
	mount_system();
	mount_more();
	loopback_up();
	sethostname("guest", 5);

	kmsg = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (kmsg < 0)
		die("/dev/kmsg");
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		die("signalfd");
	send_frame('H', 0, "", 0);
	serve(signals);
}
