/* The child of the benchmarks: says when its first instruction ran. Built with `cc -O2 -static` by life.rs. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void stamp(const char *what, long long at) {
    char line[96];
    const char *fifo = getenv("STAMP_FIFO");
    int fd = fifo ? open(fifo, O_WRONLY) : -1;
    int length = snprintf(line, sizeof line, "%s %lld\n", what, at);
    if (fd >= 0 && write(fd, line, length) == length)
        close(fd);
}

int main(int argc, char **argv) {
    long long first = now();
    if (argc < 2)
        return 100;
    if (!strcmp(argv[1], "launch")) {
        stamp("launch", now());
        execv(argv[2], argv + 2);
        return 111;
    }
    stamp(argv[1], first);
    const char *life = getenv("STAMP_PROXY_LIVES_MS");
    if (life && !strcmp(argv[1], "proxy")) {
        struct timespec t = {atoi(life) / 1000, atoi(life) % 1000 * 1000000L};
        nanosleep(&t, 0);
        stamp("exit", now());
        _exit(3);
    }
    pause();
    return 0;
}
