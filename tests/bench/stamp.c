/* The child of the benchmarks: says when its first instruction ran. Built with `cc -O2 -static` by life.rs. */
#include "stamp.h"

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
