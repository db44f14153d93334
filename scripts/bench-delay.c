/* A plugin of nbdkit for scripts/bench-serve: memory of which every read takes a while longer, by
 * sleeping in the thread that serves it. */
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#include <nbdkit-plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t size_bytes = 1 << 30;
static long delay_us = 100;
static char *memory;

static int set(const char *key, const char *value) {
    if (strcmp(key, "us") != 0) {
        nbdkit_error("unknown parameter %s", key);
        return -1;
    }
    delay_us = atol(value);
    return 0;
}

static int begin(void) {
    memory = calloc(1, size_bytes);
    return memory ? 0 : -1;
}

static void *open_one(int readonly) { return NBDKIT_HANDLE_NOT_NEEDED; }
static int64_t size(void *handle) { return size_bytes; }

static int read_some(void *handle, void *into, uint32_t count, uint64_t offset, uint32_t flags) {
    struct timespec pause = {0, delay_us * 1000};
    nanosleep(&pause, NULL);
    memcpy(into, memory + offset, count);
    return 0;
}

static int write_some(void *handle, const void *from, uint32_t count, uint64_t offset,
                      uint32_t flags) {
    memcpy(memory + offset, from, count);
    return 0;
}

static struct nbdkit_plugin plugin = {
    .name = "delay", .config = set, .get_ready = begin, .open = open_one, .get_size = size,
    .pread = read_some, .pwrite = write_some,
};
NBDKIT_REGISTER_PLUGIN(plugin)
