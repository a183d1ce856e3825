/*
 * The children of tests/bench/sidecars.rs. Built with `cc -O2 -static`.
 *
 *   sidecar                  says `up` with the time of its first instruction, and waits for a signal
 *   sidecar NAME             the same with NAME
 *   sidecar NAME MS          the same, and after MS milliseconds it says on fd 7 that it is ready
 *   sidecar launch PROG ...  says `launch` and becomes PROG
 *
 * LIFELINE is a FIFO that it holds open while it lives: that one is at its end when the last of them is dead.
 */
#include "stamp.h"

int main(int argc, char **argv) {
    long long first = now();
    if (argc > 2 && !strcmp(argv[1], "launch")) {
        stamp("launch", now());
        execvp(argv[2], argv + 2);
        return 111;
    }
    const char *lifeline = getenv("LIFELINE");
    if (!lifeline || open(lifeline, O_WRONLY) < 0)
        return 100;
    stamp(argc > 1 ? argv[1] : "up", first);
    if (argc > 2) {
        int ms = atoi(argv[2]);
        struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
        nanosleep(&t, 0);
        if (write(7, "\n", 1) != 1)
            return 111;
    }
    pause();
    return 0;
}
