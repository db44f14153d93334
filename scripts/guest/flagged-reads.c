/* Reads of 4 KiB at random through the kernel's passthrough, turn by turn with the PL flag and without it, and what
 * came of each (docs/ioda-on-the-wire.md, "PL flag and busy remaining time").
 *
 *   flagged-reads DEVICE READS BLOCKS BLOCK_BYTES FLAG
 *
 * READS of each kind go to the first BLOCKS blocks of the namespace 1 of DEVICE. FLAG is 1 or 2. The exit status is 1
 * if any read ended as it must not: one without the flag that failed, one with it that failed with another
 * status, or without the flag in its answer. */
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

enum { FAILED_FAST = 0x47c1, READ = 2, PAGE = 4096 };

struct kind {
    unsigned long done, failed_fast, wrong, without_busy_time;
    double total_ms, longest_ms;
};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
    if (argc != 6) return fprintf(stderr, "flagged-reads DEVICE READS BLOCKS BLOCK_BYTES FLAG\n"), 2;
    int device = open(argv[1], O_RDONLY);
    if (device < 0) return perror(argv[1]), 2;
    unsigned long reads = strtoul(argv[2], 0, 0), blocks = strtoul(argv[3], 0, 0);
    unsigned block_bytes = strtoul(argv[4], 0, 0), flag = strtoul(argv[5], 0, 0);
    unsigned long pages = blocks / (PAGE / block_bytes);
    static char data[PAGE] __attribute__((aligned(PAGE)));
    struct kind kinds[2];
    memset(kinds, 0, sizeof kinds);
    uint32_t least_us = UINT32_MAX, most_us = 0;
    uint64_t random = 88172645463325252ull;
    for (unsigned long number = 0; number < 2 * reads; number++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t block = random % pages * (PAGE / block_bytes);
        int flagged = number % 2;
        struct kind *kind = &kinds[flagged];
        struct nvme_passthru_cmd64 command = {
            .opcode = READ,
            .nsid = 1,
            .cdw2 = flagged ? flag << 30 : 0,
            .addr = (uintptr_t)data,
            .data_len = PAGE,
            .cdw10 = block,
            .cdw11 = block >> 32,
            .cdw12 = PAGE / block_bytes - 1,
        };
        double began = now_ms();
        int status = ioctl(device, NVME_IOCTL_IO64_CMD, &command);
        double took = now_ms() - began;
        kind->total_ms += took;
        if (took > kind->longest_ms) kind->longest_ms = took;
        uint32_t answered = command.result & 3, busy_us = command.result >> 32;
        if (status == 0 && command.result == 0) {
            kind->done++;
        } else if (status == FAILED_FAST && flagged && answered == 3) {
            kind->failed_fast++;
            if (!busy_us) kind->without_busy_time++;
            if (busy_us < least_us) least_us = busy_us;
            if (busy_us > most_us) most_us = busy_us;
        } else {
            if (kind->wrong++ < 5)
                printf("wrong: flag %u, status %#x, result %#llx\n", flagged ? flag : 0, status, (unsigned long long)command.result);
        }
    }
    const char *names[] = {"without", "with"};
    for (int k = 0; k < 2; k++)
        printf("%s the flag: %lu done, %lu failed fast (%lu without a busy time), %lu wrong; %.2f ms on average, %.1f ms at most\n",
            names[k], kinds[k].done, kinds[k].failed_fast, kinds[k].without_busy_time, kinds[k].wrong,
            kinds[k].total_ms / reads, kinds[k].longest_ms);
    if (kinds[1].failed_fast) printf("busy remaining time: %u to %u us\n", least_us, most_us);
    return kinds[0].wrong || kinds[1].wrong || !kinds[1].failed_fast;
}
