/* A stand-in for NVML: one GPU with the UUID GPU-1. FAKE_NVML says how it is: "absent", it does not start;
   "mute", no question is supported; "old", the power of the moment is not; else all is answered. */
#include <stdlib.h>
#include <string.h>

typedef int Code;
typedef struct { unsigned field, scope; long long timestamp, latency; int type; Code code;
                 union { double d; unsigned u; unsigned long long ull; } value; } Field;
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };

static int is(const char *how) {
    const char *set = getenv("FAKE_NVML");
    return set && !strcmp(set, how);
}

#define ANSWER(type, value) \
    do { if (is("mute")) return NOT_SUPPORTED; *(type *)out = (value); return OK; } while (0)

Code nvmlInit_v2(void) { return is("absent") ? DRIVER_NOT_LOADED : OK; }

Code nvmlShutdown(void) { return OK; }

Code nvmlSystemGetDriverVersion(char *text, unsigned length) {
    strncpy(text, "580.159.04", length);
    return OK;
}

Code nvmlDeviceGetHandleByUUID(const char *uuid, void **out) {
    static int device;
    *out = &device;
    return strcmp(uuid, "GPU-1") ? NOT_FOUND : OK;
}

Code nvmlDeviceGetClockInfo(void *device, int which, void *out) {
    (void)device;
    ANSWER(unsigned, which == 1 ? 1545 : 3201);
}

Code nvmlDeviceGetPowerUsage(void *device, void *out) { (void)device; ANSWER(unsigned, 650250); }

Code nvmlDeviceGetEnforcedPowerLimit(void *device, void *out) { (void)device; ANSWER(unsigned, 700000); }

Code nvmlDeviceGetTemperature(void *device, int sensor, void *out) {
    (void)device, (void)sensor;
    ANSWER(unsigned, 61);
}

Code nvmlDeviceGetTotalEnergyConsumption(void *device, void *out) {
    (void)device;
    ANSWER(unsigned long long, 123456789);
}

/* Idle, power cap, hardware slowdown. */
Code nvmlDeviceGetCurrentClocksThrottleReasons(void *device, void *out) {
    (void)device;
    ANSWER(unsigned long long, 1 | 4 | 8);
}

Code nvmlDeviceGetFieldValues(void *device, int count, Field *fields) {
    (void)device;
    for (int at = 0; at < count; at++) {
        int known = fields[at].field == 186 && !is("mute") && !is("old");
        fields[at].code = known ? OK : NOT_SUPPORTED;
        fields[at].type = 1;
        fields[at].value.u = 704500;
    }
    return OK;
}
