/* Preloaded: the system gives no more threads once MPI has begun. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

Create pthread_create;

int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    Create *next = (Create *)dlsym(RTLD_NEXT, "pthread_create");
    int begun = 0;
    if (initialized) initialized(&begun);
    return begun ? EAGAIN : next(thread, attributes, start, argument);
}
