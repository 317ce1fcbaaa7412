/* A time of day that the test moves: the clock of the machine and as many seconds as a file says, which is mapped. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *offset;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("CLOCK_OFFSET");
  int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *place = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (place != MAP_FAILED) offset = place;
  close(file);
}

int clock_gettime(clockid_t id, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, id, now);
  if (!failed && id == CLOCK_REALTIME && offset) now->tv_sec += *offset;
  return failed;
}
