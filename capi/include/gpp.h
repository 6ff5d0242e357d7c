// gpp: BerkeleyGW's GPP self-energy kernel on GPUs and CPUs. Generated from capi/src by cbindgen.

#ifndef GPP_H
#define GPP_H

#include <stdint.h>

#define GPP_VERSION 100
#define gpp_open(device, handle) gpp_open_version(device, GPP_VERSION, 0, handle)

/*
 How a call ended. What went wrong is in `gpp_message`. A handle stays usable after each of them.
 */
enum gpp_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   All went well.
   */
  GPP_STATUS_OK = 0,
  /*
   An argument that cannot be taken; the message names it.
   */
  GPP_STATUS_BAD_ARGUMENT = 1,
  /*
   The device asked for is not there.
   */
  GPP_STATUS_NO_DEVICE = 2,
  /*
   The device or its driver refused an operation.
   */
  GPP_STATUS_DEVICE_FAILED = 3,
  /*
   Too little memory on the host or on the device.
   */
  GPP_STATUS_MEMORY = 4,
  /*
   The function of `gpp_set_progress` stopped it.
   */
  GPP_STATUS_STOPPED = 5,
  /*
   A fault of the library.
   */
  GPP_STATUS_INTERNAL = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum gpp_status gpp_status;
#else
typedef int32_t gpp_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 An open device, by which calls name it. It points to nothing that a caller may read.
 */
typedef struct gpp_handle gpp_handle;

/*
 Told which part of a calculation is done, from 0 to 1, with the context that was given beside it. A number
 other than 0 stops the calculation: the call ends with `GPP_STATUS_STOPPED`. It is called by the thread that made
 the call, while that is under way, and must not call functions of this handle.
 */
typedef int32_t (*gpp_progress)(double part, void *context);

/*
 A complex number: the real part, then the imaginary one. C's `double _Complex`, C++'s
 `std::complex<double>` and Fortran's `complex(c_double_complex)` lie in memory like this: cast a pointer
 to one.
 */
typedef struct gpp_complex {
  /*
   Real part.
   */
  double re;
  /*
   Imaginary part.
   */
  double im;
} gpp_complex;

/*
 The screening of one rank at one q. Arrays are column-major, the first index fastest. They are in the host's
 memory; on a handle of one GPU `wtilde` and `eps` may be in that of the GPU, if `on_device` says so, and
 what is small may be in either. The caller owns them; a call reads them and keeps none. Extents are from 0 to
 2147483647; most problems are bounded before that, by memory or by 4294967295 elements of an array.
 */
typedef struct gpp_screening {
  /*
   G vectors, the rows of `wtilde` and `eps`.
   */
  int64_t ncouls;
  /*
   G' vectors of this rank, the columns of `wtilde` and `eps`.
   */
  int64_t ngpown;
  /*
   Length of `indinv`.
   */
  int64_t ng;
  /*
   Plasmon-pole modes in eV, `wtilde_array(ig, igp)`.
   */
  const struct gpp_complex *wtilde;
  /*
   Elements from one column of `wtilde` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_wtilde;
  /*
   Identity less the inverse dielectric matrix, `I_eps_array(ig, igp)`, no unit.
   */
  const struct gpp_complex *eps;
  /*
   Elements from one column of `eps` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_eps;
  /*
   Coulomb interaction of each G, `(ncouls)`; the sums have its unit.
   */
  const double *vcoul;
  /*
   G' of each column, `(ngpown)`: an index into `indinv`, from 1 to `ng`.
   */
  const int32_t *inv_igp_index;
  /*
   Row of each G vector, `(ng)`: from 1 to `ncouls`; others have none, and add nothing.
   */
  const int32_t *indinv;
  /*
   1 if `wtilde` and `eps` are in the memory of the handle's GPU, else 0.
   */
  int32_t on_device;
} gpp_screening;

/*
 The bands that are summed over. Arrays as in `gpp_screening`.
 */
typedef struct gpp_bands {
  /*
   Bands.
   */
  int64_t nbands;
  /*
   Matrix elements of G, `aqsntemp(ig, n)`, `ncouls` rows, no unit.
   */
  const struct gpp_complex *aqsn;
  /*
   Elements from one column of `aqsn` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_aqsn;
  /*
   Matrix elements of G', no unit: `aqsmtemp(ig, n)`, `ncouls` rows, of which those of G' are taken; or
   `(igp, n)`, `ngpown` rows, if `aqsm_local` is 1.
   */
  const struct gpp_complex *aqsm;
  /*
   Elements from one column of `aqsm` to the next; at least its rows.
   */
  int64_t ld_aqsm;
  /*
   0 if `aqsm` has a row for each G, 1 if it has one for each G'.
   */
  int32_t aqsm_local;
  /*
   Energy of each band in eV, `(nbands)`.
   */
  const double *e;
  /*
   Occupation of each band, from 0 to 1, `(nbands)`.
   */
  const double *occ;
  /*
   1 if `aqsn` and `aqsm` are in the memory of the handle's GPU, else 0.
   */
  int32_t on_device;
} gpp_bands;

/*
 Limits of the formula; BerkeleyGW's are 0.5 and 4.
 */
typedef struct gpp_formula {
  /*
   Width of a pole in eV, `sig_gamma`.
   */
  double gamma;
  /*
   Bound on |ssx| / |eps| below the band, `sexcut`.
   */
  double sexcut;
} gpp_formula;

/*
 The bands l and m of a matrix, and the bands n that are summed over. Arrays as in `gpp_screening`.
 */
typedef struct gpp_matrix_bands {
  /*
   Bands l and m, from 1 to 8192.
   */
  int64_t bands;
  /*
   Bands n.
   */
  int64_t nbands;
  /*
   Matrix elements of band l with band n, `a(ig, n, l)`, no unit: what `aqsntemp(ig, n)` is if l is the
   state. Column (n, l) begins at element `ld_a * (n + nbands * l)`, both counted from 0.
   */
  const struct gpp_complex *a;
  /*
   Elements from one column of `a` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_a;
  /*
   Energy of each band n in eV, `(nbands)`.
   */
  const double *e;
  /*
   Occupation of each band n, from 0 to 1, `(nbands)`.
   */
  const double *occ;
  /*
   1 if `a` is in the memory of the handle's GPU, else 0. A call brings it to the host as a whole.
   */
  int32_t on_device;
  /*
   1 if `omega` has the energy of each band l, so that `nw` is `bands`; else 0. Two matrices come of it then,
   as QSGW and GWPT take them.
   */
  int32_t at_bands;
} gpp_matrix_bands;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The library's version, as in "0.1.0": a string that is always there.
 */
const char *gpp_version(void);

/*
 Opens a device: "cpu", "gpu", "gpu:0", "gpu:1" and so on, or "auto", which is the first GPU, or the
 CPU if there is none. Writes a handle to `handle`, null after a failure. The caller gives it
 back to `gpp_close`.

 Programs in C call it by the macro `gpp_open(device, handle)`. `version` is the `GPP_VERSION` of the header that the
 program was compiled with: structures differ between minor versions, so one of another is refused. `first_index`
 is what messages count indices from, 0 or 1.

 # Safety
 `device` is null or a string with its end; `handle` is null or may be written.
 */
gpp_status gpp_open_version(const char *device,
                            int32_t version,
                            int32_t first_index,
                            struct gpp_handle **handle);

/*
 Gives a handle back, once whoever calculates with it has finished; those who wait for their turn get
 `GPP_STATUS_BAD_ARGUMENT`. Null is taken and does nothing.
 */
gpp_status gpp_close(struct gpp_handle *handle);

/*
 Runs this version, of those that `gpp list` prints, in place of the fastest for each problem, as in "v13"
 or "cpu:paired"; "best" is the fastest again. Waits for whoever calculates with the handle. After a failure
 it stays what it was.

 # Safety
 `id` is null or a string with its end.
 */
gpp_status gpp_set_version(struct gpp_handle *handle, const char *id);

/*
 Arrays on the GPU are made in this stream of the caller's, a `CUstream` or `cudaStream_t` of the device's
 primary context, which the CUDA runtime uses; null is the default stream. A call that reads such arrays
 begins when all that the stream has under way is done. The stream has to be there as long as it is set.

 # Safety
 `stream` is such a stream or null.
 */
gpp_status gpp_set_stream(struct gpp_handle *handle, void *stream);

/*
 Has `progress` called with the part of a call of this handle that is done, from 0 to 1: about every 10 ms, by the
 thread that has made the call, and at the end. A number other than 0 that it returns ends the call with
 GPP_STATUS_STOPPED: within 50 ms on a CPU, and on a GPU after what is launched. Sums do not depend on it. Null takes
 it back.

 # Safety
 `progress` may be called with `context` as long as it is set.
 */
gpp_status gpp_set_progress(struct gpp_handle *handle,
                            gpp_progress progress,
                            void *context);

/*
 The memory that a call takes at most beside the caller's arrays, in bytes, with the static CH: on the host, and
 on each GPU for the whole problem at once. Arrays of the host go to a GPU with less room in slabs. Nothing is
 allocated.

 `screening_on_device` is 1 if `wtilde` and `eps` are on the GPU, else 0; `bands_on_device` is 1 if matrix elements
 are, else 0.

 # Safety
 `host` and `device` are null or may be written.
 */
gpp_status gpp_workspace(struct gpp_handle *handle,
                         int64_t ncouls,
                         int64_t ngpown,
                         int64_t nbands,
                         int64_t nw,
                         int32_t screening_on_device,
                         int32_t bands_on_device,
                         uint64_t *host,
                         uint64_t *device);

/*
 Places a screening for calls of `gpp_sums` and `gpp_matrix` with a null `screening`, until the next one or
 `gpp_release`. On one GPU `wtilde` and `eps` stay there from the first sums on, if there is room. `wtilde`
 and `eps` have to stay as they are meanwhile; what is small is copied. Those that are on the GPU are brought to
 the host here, once, and stay there too. After a failure what was placed before is still there.

 # Safety
 As of `gpp_sums`; `wtilde` and `eps` are there, and nobody changes them, as long as they are placed.
 */
gpp_status gpp_place(struct gpp_handle *handle,
                     const struct gpp_screening *screening);

/*
 Lets go of what `gpp_place` has placed; nothing if that is nothing.
 */
gpp_status gpp_release(struct gpp_handle *handle);

/*
 Computes on so many threads of the CPU from now on, 1 to 65535; 0 takes that back: then there are as many
 as OMP_NUM_THREADS said at `gpp_open`, else as many as the affinity mask and the cgroup of the thread that called
 it leave room for. Sums have the same bits for any number. Threads are bound to no core: they have the mask of the
 thread that calls first, whose own mask stays as it is. For a handle of a GPU they look at arrays. Waits for whoever calculates with the handle. After a failure the number stays what it was.
 */
gpp_status gpp_set_threads(struct gpp_handle *handle,
                           int32_t threads);

/*
 How many threads of the CPU a calculation has at most; 0 for what is no handle. Like all that a handle
 answers, it waits for whoever calculates with it.
 */
int32_t gpp_threads(const struct gpp_handle *handle);

/*
 What the device is called: a string that is valid until this thread calls the function again; empty for
 what is no handle.
 */
const char *gpp_device_name(const struct gpp_handle *handle);

/*
 The version that `gpp_sums` or `gpp_matrix` ran last: a string that is valid until this thread calls the
 function again; empty if none ran, and for what is no handle.
 */
const char *gpp_last_version(const struct gpp_handle *handle);

/*
 Seconds that the kernels of the last `gpp_sums` or `gpp_matrix` took; with uploads if the device had no room
 for the whole problem. 0 if none ran, and for what is no handle.
 */
double gpp_last_seconds(const struct gpp_handle *handle);

/*
 Why the last call of this thread that failed did so: a string that is valid until another one fails; empty if
 none did.
 */
const char *gpp_message(void);

/*
 Fails with `GPP_STATUS_BAD_ARGUMENT` and this message: how a module in another language refuses an argument before
 it calls.

 # Safety
 `message` is null or a string with its end.
 */
gpp_status gpp_refuse(const char *message);

/*
 Sums screened exchange and Coulomb hole over bands, G' and G at `nw` energies `omega` in eV, from 1 to
 100000 of them; the zero of energy is that of the bands. Writes them to `asx` and `ach`, `(nw)` each, in
 the unit of `vcoul`: of this rank's G', to be summed over ranks by the caller. After a failure they are
 as they were.

 Where `static_ch` is not null, it is given the static CH of the same bands, the sum of `-vcoul * eps *
 conj(aqsm) * aqsn / 2` over bands, G' and G: what BerkeleyGW's `acc_static_ch` sums for `exact_static_ch 1`.

 A null `screening` is the one of `gpp_place`. Arrays are where their structures say; `asx`, `ach`, `static_ch`
 and what is small are in the host's memory, and what is small may be on the handle's GPU. Pointers are at
 multiples of 8 bytes, those to `int32_t` of 4, matrices on a GPU of 16. What is written shares no byte with
 anything else that is given. A null `formula` is BerkeleyGW's. Memory beside the caller's is needed for the
 rows of `aqsm`, for copies of arrays whose columns do not follow each other, and for what a version lays out
 anew. Numbers of matrix elements on a GPU are not looked at: sums with one that is none are none.

 # Safety
 Pointers that are not null point to as many elements as the extents say, which no thread changes during
 the call, nor a stream but that of `gpp_set_stream` before; no thread reads what is written meanwhile.
 */
gpp_status gpp_sums(struct gpp_handle *handle,
                    const struct gpp_screening *screening,
                    const struct gpp_bands *bands,
                    int64_t nw,
                    const double *omega,
                    const struct gpp_formula *formula,
                    struct gpp_complex *asx,
                    struct gpp_complex *ach,
                    struct gpp_complex *static_ch);

/*
 Sums the elements of screened exchange and Coulomb hole between all bands l and m over bands n, G' and G at `nw`
 energies `omega` in eV. Writes them to `sx` and `ch`, `(bands, bands, nw)` each, l fastest, then m: element (l,
 m) at energy iw is entry `l + bands * (m + bands * iw)`, counted from 0. Those of l = m are what `gpp_sums` finds
 with the elements of l as `aqsn` and `aqsm`. They have the unit of `vcoul` and are of this rank's G', to be
 summed over ranks by the caller. After a failure `sx` and `ch` are as they were.

 With `at_bands` they are `(bands, bands, 2)`: rows at the energies of their bands, `Sigma_lm(omega_l)`, then columns,
 `Sigma_lm(omega_m)`.

 Other arguments as of `gpp_sums`, with the same rules; the screening may be one of the GPU's. The version is the
 fastest for matrices, whatever `gpp_set_version` says: "ring", "m16n8k16" or "wide" on recent GPUs, "cpu" on a
 CPU. A GPU keeps nothing for the next call but what `gpp_place` has placed.

 # Safety
 As of `gpp_sums`.
 */
gpp_status gpp_matrix(struct gpp_handle *handle,
                      const struct gpp_screening *screening,
                      const struct gpp_matrix_bands *bands,
                      int64_t nw,
                      const double *omega,
                      const struct gpp_formula *formula,
                      struct gpp_complex *sx,
                      struct gpp_complex *ch);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GPP_H */
