// SPDX-License-Identifier: Apache-2.0
/*
 * A Python interpreter by fork: what /usr/bin/python3 would do, done by a child of forkserver.py,
 * which has the expensive imports behind it. Under emulation that is seconds for each start.
 *
 * Usage as python3's: pyfork -c CODE [ARGUMENT...] or pyfork SCRIPT [ARGUMENT...]; also as the
 * interpreter of a script's first line.
 *
 * The child is the server's, not the caller's. Where that could be seen, the real interpreter is
 * executed instead: other namespaces, another root, cgroup or user than the server's, more open
 * files than the standard three, a terminal, an environment that python3 or the dynamic linker
 * would look at, or PYFORK=0.
 *
 * The request is one message: the three files, then strings with NUL: working directory, umask,
 * number of arguments, arguments, environment. The answers are the child's pid and its wait status.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER_SOCKET	"/run/pyfork"
#define PYTHON		"/usr/bin/python3"
#define MAX_REQUEST	(128 * 1024)

static volatile pid_t child;

static void be_python(char **argv)
{
	argv[0] = PYTHON;
	execv(PYTHON, argv);
	perror(PYTHON);
	_exit(127);
}

static int same_text(const char *ours, const char *theirs)
{
	char a[4096], b[4096];
	ssize_t n, m;
	int fd;

	fd = open(ours, O_RDONLY | O_CLOEXEC);
	n = read(fd, a, sizeof(a));
	close(fd);
	fd = open(theirs, O_RDONLY | O_CLOEXEC);
	m = read(fd, b, sizeof(b));
	close(fd);
	return n > 0 && n == m && !memcmp(a, b, n);
}

static int same_file(const char *ours, const char *theirs)
{
	struct stat a, b;

	return !stat(ours, &a) && !stat(theirs, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Capabilities, NoNewPrivs and Seccomp; not the lines that are never the same. */
static int same_credentials(void)
{
	static const char * const fields[] = { "CapEff:", "CapPrm:", "CapBnd:", "NoNewPrivs:",
					       "Seccomp:", "Uid:", "Gid:" };
	const char *paths[] = { "/proc/self/status", "/proc/1/status" };
	char text[2][8192];

	for (int i = 0; i < 2; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text[i], sizeof(text[i]) - 1);

		close(fd);
		if (n <= 0)
			return 0;
		text[i][n] = 0;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		char *a = strstr(text[0], fields[i]), *b = strstr(text[1], fields[i]);

		if (!a || !b || strcspn(a, "\n") != strcspn(b, "\n") ||
		    strncmp(a, b, strcspn(a, "\n")))
			return 0;
	}
	return 1;
}

static int only_standard_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			count++;
	closedir(dir);
	return count == 3 && fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 &&
	       fcntl(2, F_GETFD) >= 0;
}

/* Nothing that a process could see of itself differs from what the server's child sees. */
static int unremarkable(const char *program)
{
	static const char * const spaces[] = { "cgroup", "ipc", "mnt", "net", "pid", "time", "user",
					       "uts" };
	const char *wanted = getenv("PYFORK");

	/* An option of python3 other than -c. */
	if (!program || (program[0] == '-' && strcmp(program, "-c")))
		return 0;
	if ((wanted && !strcmp(wanted, "0")) || isatty(0) || isatty(1) || isatty(2))
		return 0;
	for (char **env = environ; *env; env++)
		if (!strncmp(*env, "PYTHON", 6) || !strncmp(*env, "LD_", 3))
			return 0;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		char ours[64], theirs[64];

		snprintf(ours, sizeof(ours), "/proc/self/ns/%s", spaces[i]);
		snprintf(theirs, sizeof(theirs), "/proc/1/ns/%s", spaces[i]);
		if (!same_file(ours, theirs))
			return 0;
	}
	return same_file("/proc/self/root", "/proc/1/root") &&
	       same_text("/proc/self/cgroup", "/proc/1/cgroup") &&
	       same_text("/proc/self/limits", "/proc/1/limits") && same_credentials() &&
	       only_standard_files();
}

static size_t add(char *request, size_t at, const char *text)
{
	size_t length = strlen(text) + 1;

	if (at + length > MAX_REQUEST)
		return MAX_REQUEST + 1;
	memcpy(request + at, text, length);
	return at + length;
}

static void pass_signal(int number)
{
	if (child)
		kill(child, number);
}

int main(int argc, char **argv)
{
	static const int passed[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SERVER_SOCKET };
	char control[CMSG_SPACE(3 * sizeof(int))] = { 0 };
	static char request[MAX_REQUEST];
	struct iovec data = { .iov_base = request };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *files = CMSG_FIRSTHDR(&message);
	int fds[3] = { 0, 1, 2 }, answer, server;
	char number[32], cwd[4096];
	mode_t mask = umask(0);
	size_t at = 0;

	umask(mask);
	if (!unremarkable(argv[1]) || !getcwd(cwd, sizeof(cwd)))
		be_python(argv);
	server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof(address)))
		be_python(argv);

	at = add(request, at, cwd);
	snprintf(number, sizeof(number), "%o", mask);
	at = add(request, at, number);
	snprintf(number, sizeof(number), "%d", argc - 1);
	at = add(request, at, number);
	for (int i = 1; i < argc && at <= MAX_REQUEST; i++)
		at = add(request, at, argv[i]);
	for (char **env = environ; *env && at <= MAX_REQUEST; env++)
		at = add(request, at, *env);
	if (at > MAX_REQUEST)
		be_python(argv);
	data.iov_len = at;
	files->cmsg_level = SOL_SOCKET;
	files->cmsg_type = SCM_RIGHTS;
	files->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(files), fds, sizeof(fds));
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		signal(passed[i], pass_signal);
	if (sendmsg(server, &message, 0) < 0)
		be_python(argv);
	while (recv(server, &answer, sizeof(answer), 0) < 0 && errno == EINTR)
		;
	child = answer;
	for (;;) {
		ssize_t n = recv(server, &answer, sizeof(answer), 0);

		if (n == sizeof(answer))
			break;
		if (n < 0 && errno == EINTR)
			continue;
		fprintf(stderr, "pyfork: the server is gone\n");
		return 125;
	}
	if (WIFSIGNALED(answer)) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(answer), SIG_DFL);
		raise(WTERMSIG(answer));
	}
	return WEXITSTATUS(answer);
}
