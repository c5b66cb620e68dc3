/*
 * Records what a program asks of the disk, so that a power cut can be played afterwards: preloaded
 * into a process, writes one record to RECORDING_LOG.<pid> for each change of a file or directory
 * below RECORDING_ROOT, for each sync, and for whatever comes and leaves by a socket. A record is
 * written after the call has succeeded, so that what is recorded as synced really was; what leaves
 * by a socket is recorded before it leaves, so that it cannot have been heard earlier.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, UNLINK, RENAME, SEND, RECEIVE };
enum { FDS = 4096, SENT_MAX = 16384 };

/* Little-endian; the path and the data follow. */
struct __attribute__((packed)) record {
  uint32_t bytes;
  uint8_t what;
  uint64_t at_ns;
  uint64_t offset;
  uint32_t path_bytes;
  uint32_t data_bytes;
};

/* What a descriptor was opened as; the file tells whether it still is that. */
static struct known {
  char *path;
  dev_t device;
  ino_t inode;
} known[FDS];
static int log_fd = -1;
/* The process ends itself after so many changes to files; 0: never. */
static long changes_left = 0;
static char root[PATH_MAX];
static size_t root_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  const char *below = getenv("RECORDING_ROOT");
  const char *log = getenv("RECORDING_LOG");
  if (!below || !log || !realpath(below, root)) return;
  root_bytes = strlen(root);
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s.%d", log, getpid());
  int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  log_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FDS);
  if (log_fd < 0) abort();
  close(fd);
  const char *changes = getenv("RECORDING_ENDS_AFTER");
  if (changes) changes_left = atol(changes);
}

static void record(uint8_t what, const char *path, uint64_t offset, const void *data, size_t bytes) {
  if (log_fd < 0) return;
  int before = errno;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct record head = {
    .what = what,
    .at_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
    .offset = offset,
    .path_bytes = (uint32_t)strlen(path),
    .data_bytes = (uint32_t)bytes,
  };
  head.bytes = (uint32_t)sizeof head + head.path_bytes + head.data_bytes;
  struct iovec parts[] = {
    {&head, sizeof head}, {(void *)path, head.path_bytes}, {(void *)data, bytes}};
  REAL(writev);
  if (real(log_fd, parts, 3) != (ssize_t)head.bytes) abort();
  if (what < SEND && changes_left > 0 && --changes_left == 0) kill(getpid(), SIGKILL);
  errno = before;
}

/* Absolute and below the root, else NULL; `into` has room for it. */
static const char *followed(const char *path, char *into) {
  if (log_fd < 0) return NULL;
  char *slash = strrchr(path, '/');
  char folder[PATH_MAX], whole[PATH_MAX];
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  if (!realpath(slash == path ? "/" : folder, whole)) return NULL;
  int bytes = snprintf(into, PATH_MAX, "%s/%s", whole, slash ? slash + 1 : path);
  if (bytes >= PATH_MAX) return NULL;
  if (strncmp(into, root, root_bytes) != 0) return NULL;
  return into[root_bytes] == '/' || into[root_bytes] == 0 ? into : NULL;
}

static void opened(int fd, const char *path, int existed, int flags) {
  char whole[PATH_MAX];
  struct stat about;
  if (fd < 0 || fd >= FDS || !followed(path, whole) || fstat(fd, &about) != 0) return;
  pthread_mutex_lock(&lock);
  free(known[fd].path);
  known[fd] = (struct known){strdup(whole), about.st_dev, about.st_ino};
  pthread_mutex_unlock(&lock);
  if (!existed) record(CREATE, whole, 0, "", 0);
  else if (flags & O_TRUNC) record(TRUNCATE, whole, 0, "", 0);
}

/* A descriptor can be closed past this library and be given to another file. */
static const char *path_of(int fd) {
  struct stat about;
  if (fd < 0 || fd >= FDS || !known[fd].path) return NULL;
  int before = errno;
  int same = fstat(fd, &about) == 0 && about.st_dev == known[fd].device &&
             about.st_ino == known[fd].inode;
  errno = before;
  return same ? known[fd].path : NULL;
}

static int exists(const char *path) {
  struct stat about;
  int before = errno;
  int found = stat(path, &about) == 0;
  errno = before;
  return found;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    REAL(name); \
    int existed = !(flags & O_CREAT) || exists(path); \
    int fd = real(path, flags, mode); \
    opened(fd, path, existed, flags); \
    return fd; \
  }
OPEN(open)
OPEN(open64)

static int is_socket(int fd) {
  struct stat about;
  return log_fd >= 0 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

static void sending(int fd, const struct iovec *parts, int count) {
  int before = errno;
  if (is_socket(fd)) {
    char first[SENT_MAX];
    size_t bytes = 0;
    for (int i = 0; i < count && bytes < sizeof first; i++) {
      size_t room = sizeof first - bytes;
      size_t taken = parts[i].iov_len < room ? parts[i].iov_len : room;
      memcpy(first + bytes, parts[i].iov_base, taken);
      bytes += taken;
    }
    record(SEND, "", 0, first, bytes);
  }
  errno = before;
}

/* At the file's position, which after the call is behind the bytes. */
static void wrote(int fd, const struct iovec *parts, int count, ssize_t done) {
  const char *path = path_of(fd);
  if (!path || done <= 0) return;
  off_t end = lseek(fd, 0, SEEK_CUR);
  uint64_t offset = (uint64_t)(end - done);
  for (int i = 0; i < count && done > 0; i++) {
    size_t taken = (ssize_t)parts[i].iov_len < done ? parts[i].iov_len : (size_t)done;
    record(WRITE, path, offset, parts[i].iov_base, taken);
    offset += taken;
    done -= (ssize_t)taken;
  }
}

ssize_t write(int fd, const void *data, size_t bytes) {
  REAL(write);
  struct iovec part = {(void *)data, bytes};
  sending(fd, &part, 1);
  ssize_t done = real(fd, data, bytes);
  wrote(fd, &part, 1, done);
  return done;
}

ssize_t read(int fd, void *data, size_t bytes) {
  REAL(read);
  ssize_t done = real(fd, data, bytes);
  if (done > 0 && log_fd >= 0) {
    int before = errno;
    if (is_socket(fd)) record(RECEIVE, "", 0, data, done < SENT_MAX ? (size_t)done : SENT_MAX);
    errno = before;
  }
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  sending(fd, parts, count);
  ssize_t done = real(fd, parts, count);
  wrote(fd, parts, count, done);
  return done;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  sending(fd, message->msg_iov, (int)message->msg_iovlen);
  return real(fd, message, flags);
}

#define PWRITE(name, type) \
  ssize_t name(int fd, const void *data, size_t bytes, type offset) { \
    REAL(name); \
    ssize_t done = real(fd, data, bytes, offset); \
    if (done > 0 && path_of(fd)) \
      record(WRITE, path_of(fd), (uint64_t)offset, data, (size_t)done); \
    return done; \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define PWRITEV(name, type) \
  ssize_t name(int fd, const struct iovec *parts, int count, type offset) { \
    REAL(name); \
    ssize_t done = real(fd, parts, count, offset); \
    uint64_t at = (uint64_t)offset; \
    ssize_t left = path_of(fd) ? done : 0; \
    for (int i = 0; i < count && left > 0; i++) { \
      size_t taken = (ssize_t)parts[i].iov_len < left ? parts[i].iov_len : (size_t)left; \
      record(WRITE, path_of(fd), at, parts[i].iov_base, taken); \
      at += taken; \
      left -= (ssize_t)taken; \
    } \
    return done; \
  }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

#define TRUNCATION(name, type) \
  int name(int fd, type size) { \
    REAL(name); \
    int done = real(fd, size); \
    if (done == 0 && path_of(fd)) record(TRUNCATE, path_of(fd), (uint64_t)size, "", 0); \
    return done; \
  }
TRUNCATION(ftruncate, off_t)
TRUNCATION(ftruncate64, off64_t)

#define SYNCHRONISATION(name) \
  int name(int fd) { \
    REAL(name); \
    int done = real(fd); \
    if (done == 0 && path_of(fd)) record(SYNC, path_of(fd), 0, "", 0); \
    return done; \
  }
SYNCHRONISATION(fsync)
SYNCHRONISATION(fdatasync)

#define REMOVAL(name) \
  int name(const char *path) { \
    REAL(name); \
    char whole[PATH_MAX]; \
    const char *known = followed(path, whole); \
    int done = real(path); \
    if (done == 0 && known) record(UNLINK, known, 0, "", 0); \
    return done; \
  }
REMOVAL(unlink)
REMOVAL(remove)

int rename(const char *from, const char *to) {
  REAL(rename);
  char old[PATH_MAX], new[PATH_MAX];
  const char *before = followed(from, old);
  const char *after = followed(to, new);
  int done = real(from, to);
  if (done == 0 && before && after) record(RENAME, before, 0, after, strlen(after));
  return done;
}
