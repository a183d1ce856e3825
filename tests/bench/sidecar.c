/*
 * The children of tests/bench/sidecars.rs. Built with `cc -O2 -static -nostdlib`: the C library asks the processor what it
 * can before main, and in a virtual machine each such question is a trap. That is half a millisecond of a start here, as
 * much as all that a supervisor does for it. x86-64.
 *
 *   sidecar                  says `up` with the time of its first instruction, and waits for a signal
 *   sidecar NAME             the same with NAME
 *   sidecar NAME MS          the same, and after MS milliseconds it says on fd 7 that it is ready
 *   sidecar launch PROG ...  says `launch` and becomes PROG, a path
 *
 * STAMP_FIFO is where it says so. LIFELINE is a FIFO that it holds open while it lives: that one is at its end when the last
 * of them is dead.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

static long call(long number, long a, long b, long c, long d) {
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static long long now(void) {
    struct timespec t;
    call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static const char *variable(char **environment, const char *name) {
    for (; *environment; environment++) {
        const char *at = *environment, *of = name;
        while (*of && *at == *of)
            at++, of++;
        if (!*of && *at == '=')
            return at + 1;
    }
    return "";
}

static void stamp(char **environment, const char *what, long long at) {
    char line[96], digits[20];
    long length = 0, count = 0;
    while (*what && length < 60)
        line[length++] = *what++;
    line[length++] = ' ';
    do
        digits[count++] = '0' + at % 10;
    while (at /= 10);
    while (count)
        line[length++] = digits[--count];
    line[length++] = '\n';
    long fd = call(SYS_open, (long)variable(environment, "STAMP_FIFO"), O_WRONLY, 0, 0);
    call(SYS_write, fd, (long)line, length, 0);
    call(SYS_close, fd, 0, 0, 0);
}

static long number(const char *text) {
    long value = 0;
    while (*text)
        value = value * 10 + *text++ - '0';
    return value;
}

static int act(int argc, char **argv, char **environment) {
    long long first = now();
    if (argc > 2 && same(argv[1], "launch")) {
        stamp(environment, "launch", now());
        call(SYS_execve, (long)argv[2], (long)(argv + 2), (long)environment, 0);
        return 111;
    }
    if (call(SYS_open, (long)variable(environment, "LIFELINE"), O_WRONLY, 0, 0) < 0)
        return 100;
    stamp(environment, argc > 1 ? argv[1] : "up", first);
    if (argc > 2) {
        long ms = number(argv[2]);
        struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
        call(SYS_nanosleep, (long)&t, 0, 0, 0);
        if (call(SYS_write, 7, (long)"\n", 1, 0) != 1)
            return 111;
    }
    call(SYS_pause, 0, 0, 0, 0);
    return 0;
}

__attribute__((used)) static void begin(long *stack) {
    char **argv = (char **)(stack + 1);
    call(SYS_exit_group, act((int)stack[0], argv, argv + stack[0] + 1), 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
