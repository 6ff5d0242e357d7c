/* A stand-in for the driver's library: devices in the host's memory whose work is done when it is
   enqueued. It ends the process where a call is made without the context that it belongs to, or where
   something outlives its context. FAKE_DEVICES is the number of devices, FAKE_INIT what cuInit returns.

   Its one kernel, whatever the image: out[i] = value + i + offset[0] for i in 0..blocks * threads, with the
   parameters (out: *u32, value: u32) and the module's variable offset, of 16 bytes. Where FAKE_LAUNCH is the
   address of a function, that does every launch instead: it is given the kernel's name, the parameters, the
   blocks and the threads of a block, and the module's variable, whatever its name. With FAKE_SLOW a copy to
   a device takes a second for 50 MB. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Code;
typedef unsigned long long Address;
enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, NOT_FOUND = 500 };

typedef struct { int device, retained, live; } Context;
/* What follows one is at a multiple of 16 bytes, as memory of a device is. */
typedef struct __attribute__((aligned(16))) {
    Context *of;
    size_t bytes;
    unsigned offset[4];
    float time;
    char name[100];
} Thing;
typedef void Launch(const char *, void **, unsigned, unsigned, const void *);
enum { VARIABLE = 65536 };

static Context contexts[8];
static __thread Context *current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static float now;

/* Calls so far, and how many things they made: memory, events, streams, modules. */
static unsigned calls, made;
#define CALL __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED)
void fake_counts(unsigned *of_calls, unsigned *of_things) { *of_calls = calls, *of_things = made; }

static void fail(const char *what) {
    fprintf(stderr, "stand-in for libcuda: %s\n", what);
    _Exit(77);
}

static void count(Context *of, int by) {
    pthread_mutex_lock(&lock);
    of->live += by;
    pthread_mutex_unlock(&lock);
}

static Thing *make(size_t bytes) {
    if (!current) fail("something is made without a context");
    Thing *thing = calloc(1, sizeof(Thing) + bytes);
    if (!thing) return NULL;
    thing->of = current;
    thing->bytes = bytes;
    __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    count(current, 1);
    return thing;
}

static Thing *mine(void *handle) {
    Thing *thing = handle;
    if (!thing) fail("the default stream or no handle is used");
    if (thing->of != current) fail("another context is current");
    return thing;
}

static Code destroy(void *handle) {
    Thing *thing = handle;
    if (!current) fail("something is destroyed without a context");
    count(thing->of, -1);
    free(thing);
    return OK;
}

__attribute__((destructor)) static void all_released(void) {
    for (int device = 0; device < 8; device++)
        if (contexts[device].retained) fail("a context is not released");
}

static Launch *launches(void) {
    const char *text = getenv("FAKE_LAUNCH");
    return text ? (Launch *)strtoull(text, NULL, 10) : NULL;
}

static int devices(void) {
    const char *text = getenv("FAKE_DEVICES");
    return text ? atoi(text) : 0;
}

Code cuInit(unsigned flags) {
    CALL;
    const char *code = getenv("FAKE_INIT");
    if (code) return atoi(code);
    return flags ? INVALID_VALUE : devices() ? OK : NO_DEVICE;
}
Code cuDriverGetVersion(int *version) { CALL; *version = 12090; return OK; }
Code cuGetErrorName(Code code, const char **text) {
    CALL;
    *text = code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE"
          : code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
          : code == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND"
          : code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : NULL;
    return *text ? OK : INVALID_VALUE;
}
Code cuGetErrorString(Code code, const char **text) {
    CALL;
    *text = code == NO_DEVICE ? "no CUDA-capable device is detected" : "the text of the code";
    return OK;
}
Code cuDeviceGet(int *device, int index) {
    CALL;
    *device = index;
    return index < devices() ? OK : 101;
}
Code cuDeviceGetCount(int *count) { CALL; *count = devices(); return OK; }
Code cuDeviceGetName(char *name, int length, int device) {
    CALL;
    snprintf(name, length, "Stand-in %d", device);
    return OK;
}
Code cuDeviceGetAttribute(int *value, int attribute, int device) {
    CALL;
    /* 75 and 76 are the compute capability, 87 the rate of FP32 over that of FP64. */
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 87 ? (device ? 64 : 2) : 1000 * device + attribute;
    return OK;
}
Code cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    CALL;
    for (int at = 0; at < 16; at++) uuid[at] = at ? 0xf0 + at : device;
    return OK;
}
Code cuDevicePrimaryCtxRetain(Context **context, int device) {
    CALL;
    pthread_mutex_lock(&lock);
    contexts[device].device = device;
    contexts[device].retained++;
    pthread_mutex_unlock(&lock);
    *context = &contexts[device];
    return OK;
}
Code cuDevicePrimaryCtxRelease_v2(int device) {
    CALL;
    pthread_mutex_lock(&lock);
    if (--contexts[device].retained < 0) fail("a context is released twice");
    if (!contexts[device].retained && contexts[device].live) fail("something outlives its context");
    pthread_mutex_unlock(&lock);
    return OK;
}
Code cuCtxSetCurrent(Context *context) { CALL; current = context; return OK; }
Code cuCtxGetCurrent(Context **context) { CALL; *context = current; return OK; }
Code cuMemGetInfo_v2(size_t *free, size_t *total) {
    CALL;
    if (!current) return INVALID_CONTEXT;
    *free = 5 << 26;
    *total = (size_t)(2 + current->device) << 28;
    return OK;
}

/* Memory: the handle stands before it. */
static Code allocate(void **at, size_t bytes) {
    if (!bytes) return INVALID_VALUE;
    Thing *thing = make(bytes);
    *at = thing + 1;
    return thing ? OK : OUT_OF_MEMORY;
}
/* Memory of devices, by which an address is told from the host's. */
enum { MEMORIES = 4096 };
static struct { char *at; size_t bytes; int device; } memories[MEMORIES];
static int memory_with(Address at) {
    int entry = MEMORIES - 1;
    for (; entry >= 0; entry--)
        if (memories[entry].at && (char *)at >= memories[entry].at &&
            (char *)at < memories[entry].at + memories[entry].bytes)
            break;
    return entry;
}
/* Bytes of all memory that is allocated, and the most that may be; 0 for no limit. */
static size_t taken, most;
size_t fake_room(size_t more) {
    pthread_mutex_lock(&lock);
    most = more ? taken + more : 0;
    pthread_mutex_unlock(&lock);
    return taken;
}
Code cuMemAlloc_v2(Address *at, size_t bytes) {
    CALL;
    pthread_mutex_lock(&lock);
    int is_full = most && taken + bytes > most;
    pthread_mutex_unlock(&lock);
    Code code = is_full ? OUT_OF_MEMORY : allocate((void **)at, bytes);
    pthread_mutex_lock(&lock);
    if (code == OK) taken += bytes;
    int entry = 0;
    while (entry < MEMORIES && memories[entry].at) entry++;
    if (code == OK && entry < MEMORIES) {
        memories[entry].at = (char *)*at;
        memories[entry].bytes = bytes;
        memories[entry].device = current->device;
    }
    pthread_mutex_unlock(&lock);
    return code;
}
Code cuPointerGetAttributes(unsigned count, int *attributes, int **values, Address at) {
    CALL;
    pthread_mutex_lock(&lock);
    int entry = memory_with(at);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < count; i++) {
        if (attributes[i] != 2 && attributes[i] != 9) return INVALID_VALUE;
        // Of other memory nothing is known, which is no failure: no kind, no device.
        *values[i] = attributes[i] == 2 ? (entry < 0 ? 0 : 2) : entry < 0 ? -2 : memories[entry].device;
    }
    return OK;
}
Code cuMemAllocHost_v2(void **at, size_t bytes) { CALL; return allocate(at, bytes); }
Code cuMemFree_v2(Address at) {
    CALL;
    mine((Thing *)at - 1);
    pthread_mutex_lock(&lock);
    int entry = memory_with(at);
    taken -= ((Thing *)at - 1)->bytes;
    if (entry >= 0) memories[entry].at = NULL;
    pthread_mutex_unlock(&lock);
    return destroy((Thing *)at - 1);
}
Code cuMemFreeHost(void *at) { CALL; mine((Thing *)at - 1); return destroy((Thing *)at - 1); }
Code cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) {
    CALL;
    mine(stream);
    const char *slow = getenv("FAKE_SLOW");
    if (slow && *slow) usleep(bytes / 50);
    memcpy((void *)to, from, bytes);
    return OK;
}
Code cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) {
    CALL;
    mine(stream);
    memcpy(to, (void *)from, bytes);
    return OK;
}
Code cuMemsetD8Async(Address at, unsigned char byte, size_t bytes, void *stream) {
    CALL;
    mine(stream);
    if (bytes > mine((Thing *)at - 1)->bytes) fail("a fill is longer than its memory");
    memset((void *)at, byte, bytes);
    return OK;
}

Code cuModuleLoadDataEx(
    Thing **module, const char *image, unsigned options, int *option, void **value) {
    CALL;
    enum { LOG = 5, LOG_BYTES = 6, LINE_INFO = 13 };
    char *log = NULL;
    size_t bytes = 0;
    int lines = 0;
    for (unsigned at = 0; at < options; at++) {
        if (option[at] == LOG) log = value[at];
        if (option[at] == LOG_BYTES) bytes = (size_t)value[at];
        if (option[at] == LINE_INFO) lines = value[at] == (void *)1;
    }
    if (strstr(image, "refuse this")) {
        if (log) snprintf(log, bytes, "ptxas fatal: line 7\n");
        return INVALID_PTX;
    }
    if (!lines) fail("a module is loaded without line information");
    *module = make(launches() ? VARIABLE : 0);
    return OK;
}
Code cuModuleUnload(Thing *module) { CALL; mine(module); return destroy(module); }
Code cuModuleGetFunction(Thing **function, Thing *module, const char *name) {
    CALL;
    *function = mine(module);
    if (launches()) {
        snprintf(module->name, sizeof module->name, "%s", name);
        return OK;
    }
    return strcmp(name, "fill") ? NOT_FOUND : OK;
}
Code cuModuleGetGlobal_v2(Address *at, size_t *bytes, Thing *module, const char *name) {
    CALL;
    if (launches()) {
        *at = (Address)(mine(module) + 1);
        *bytes = VARIABLE;
        return OK;
    }
    *at = (Address)mine(module)->offset;
    *bytes = sizeof module->offset;
    return strcmp(name, "offset") ? NOT_FOUND : OK;
}
Code cuFuncGetModule(Thing **module, Thing *function) { CALL; *module = mine(function); return OK; }
Code cuFuncGetAttribute(int *value, int attribute, Thing *function) {
    CALL;
    mine(function);
    *value = attribute == 4 ? 32 : 0;
    return OK;
}
Code cuFuncSetAttribute(Thing *function, int attribute, int value) {
    mine(function);
    return attribute == 8 && value >= 0 ? OK : INVALID_VALUE;
}
Code cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, Thing *function, int threads, size_t dynamic) {
    CALL;
    mine(function);
    *blocks = dynamic ? 0 : 2048 / threads;
    return OK;
}
Code cuLaunchKernel(
    Thing *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
    unsigned block_y, unsigned block_z, unsigned dynamic, void *stream, void **parameters,
    void **extra) {
    CALL;
    mine(function);
    mine(stream);
    if (grid_y * grid_z * block_y * block_z != 1 || extra) return INVALID_VALUE;
    /* What is launched with shared memory does without it here. */
    if (dynamic && !launches()) return INVALID_VALUE;
    if (launches()) {
        launches()(function->name, parameters, grid_x, block_x, function + 1);
        return OK;
    }
    unsigned *out = *(unsigned **)parameters[0], value = *(unsigned *)parameters[1];
    for (unsigned i = 0; i < grid_x * block_x; i++) out[i] = value + i + function->offset[0];
    return OK;
}

Code cuStreamCreateWithPriority(Thing **stream, unsigned flags, int priority) {
    CALL;
    *stream = make(0);
    return flags != 1 || priority ? INVALID_VALUE : OK;
}
Code cuStreamDestroy_v2(Thing *stream) { CALL; mine(stream); return destroy(stream); }
Code cuStreamSynchronize(Thing *stream) { CALL; mine(stream); return OK; }
/* The event may be of another context. */
Code cuStreamWaitEvent(Thing *stream, Thing *event, unsigned flags) {
    CALL;
    mine(stream);
    return event->time > 0 && !flags ? OK : INVALID_VALUE;
}
Code cuEventCreate(Thing **event, unsigned flags) { CALL; (void)flags; *event = make(0); return OK; }
Code cuEventDestroy_v2(Thing *event) { CALL; return destroy(event); }
/* The default stream is others'. */
Code cuEventRecord(Thing *event, Thing *stream) {
    CALL;
    if (stream) mine(stream);
    pthread_mutex_lock(&lock);
    mine(event)->time = now += 1.5f;
    pthread_mutex_unlock(&lock);
    return OK;
}
Code cuEventSynchronize(Thing *event) { CALL; return mine(event)->time > 0 ? OK : INVALID_VALUE; }
Code cuEventElapsedTime(float *milliseconds, Thing *begin, Thing *end) {
    CALL;
    *milliseconds = mine(end)->time - mine(begin)->time;
    return OK;
}
