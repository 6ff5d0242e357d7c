// What a process does around calls: allocations that fail (alloc), threads that OpenMP binds (places MASK), main that
// ends by pthread_exit with an open handle (exit).
#define _GNU_SOURCE
#include <errno.h>
#include <gpp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The program's own functions come before the C library's: of 1 MiB or more, allocation number `fails` fails.
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static atomic_int fails, count;
static int refused(size_t bytes) { return bytes >= 1 << 20 && fails && ++count == fails; }
void *malloc(size_t bytes) { return refused(bytes) ? NULL : __libc_malloc(bytes); }
void *calloc(size_t many, size_t each) { return refused(many * each) ? NULL : __libc_calloc(many, each); }
void *realloc(void *at, size_t bytes) { return refused(bytes) ? NULL : __libc_realloc(at, bytes); }
int posix_memalign(void **to, size_t align, size_t bytes) {
    return refused(bytes) || !(*to = __libc_memalign(align, bytes)) ? ENOMEM : 0;
}

enum { NCOULS = 700, NGPOWN = 300, NBANDS = 2, NW = 8 };
static gpp_complex wtilde[NGPOWN * NCOULS], eps[NGPOWN * NCOULS], aqs[NBANDS * NCOULS], asx[NW], ach[NW];
static double vcoul[NCOULS], e[NBANDS] = {-3, 2}, occ[NBANDS] = {1, 0}, omega[NW];
static int32_t index_of[NCOULS];
static gpp_status sums(gpp_handle *handle) {
    gpp_screening s = {.ncouls = NCOULS, .ngpown = NGPOWN, .ng = NCOULS, .wtilde = wtilde, .ld_wtilde = NCOULS, .eps = eps,
                       .ld_eps = NCOULS, .vcoul = vcoul, .inv_igp_index = index_of, .indinv = index_of};
    gpp_bands b = {.nbands = NBANDS, .aqsn = aqs, .ld_aqsn = NCOULS, .aqsm = aqs, .ld_aqsm = NCOULS, .e = e, .occ = occ};
    return gpp_sums(handle, &s, &b, NW, omega, NULL, asx, ach, NULL, 0, NULL);
}

static void *forget(void *handle) { return handle; }

int main(int many, char **arguments) {
    gpp_handle *handle;
    for (int i = 0; i < NGPOWN * NCOULS; i++) wtilde[i].re = 5 + i % 977 * 0.05, eps[i].re = 0.5;
    for (int i = 0; i < NBANDS * NCOULS; i++) aqs[i].re = 1;
    for (int i = 0; i < NCOULS; i++) vcoul[i] = 1, index_of[i] = i + 1;
    for (int i = 0; i < NW; i++) omega[i] = 0.1 * i;
    if (gpp_open("cpu", &handle)) return 1;
    if (!strcmp(arguments[1], "alloc")) {
        if (gpp_set_version(handle, arguments[2]) || sums(handle)) return 2;
        for (int at = 1, refusals = 0;; at++) {
            count = 0, fails = at;
            gpp_status status = sums(handle);
            fails = 0;
            if (status != GPP_STATUS_OK && status != GPP_STATUS_MEMORY) return 3;
            refusals += status == GPP_STATUS_MEMORY;
            if (count < at) return refusals ? 0 : 4;
        }
    }
    if (sums(handle)) return 5;
    if (!strcmp(arguments[1], "places")) {
        char line[256], own[256];
        snprintf(own, sizeof own, "Cpus_allowed_list:\t%s\n", arguments[many - 1]);
        FILE *list = popen("grep -l gpp-cpu /proc/$PPID/task/*/comm | sed s/comm/status/ | xargs grep -h Cpus_allowed_list", "r");
        int threads = 0;
        for (; fgets(line, sizeof line, list); threads++)
            if (strcmp(line, own)) return printf("%s, not %s", line, own), 6;
        return threads == gpp_threads(handle) ? 0 : 7;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, forget, handle);
    puts("ends");
    fflush(stdout);
    pthread_exit(NULL);
}
