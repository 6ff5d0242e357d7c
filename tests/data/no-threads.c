/* Preloaded: the system gives so many threads as MOST_THREADS says; without it, none once MPI has begun. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

Create pthread_create;

int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    static atomic_int given;
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    Create *next = (Create *)dlsym(RTLD_NEXT, "pthread_create");
    const char *most = getenv("MOST_THREADS");
    int refused = 0;
    if (most) refused = atomic_fetch_add(&given, 1) >= atoi(most);
    else if (initialized) initialized(&refused);
    return refused ? EAGAIN : next(thread, attributes, start, argument);
}
