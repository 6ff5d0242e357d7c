! gpp for Fortran: BerkeleyGW's GPP self-energy on GPUs and CPUs. Compile this file with the program and link the
! library. Arrays are BerkeleyGW's: column-major, indices from 1. Matrices may be on a GPU, with OpenACC's `!$acc
! host_data use_device(...)` around the call and on_device=.true.; other arrays are on the host. Arrays are read in
! place: one with gaps, such as a(::2), is refused. No call prints or stops the program; gpp_message has the reason of
! a status other than gpp_ok.
module gpp
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_double_complex, c_f_pointer, &
    c_float_complex, c_funloc, c_funptr, c_int32_t, c_int64_t, c_intptr_t, c_loc, c_null_char, c_null_funptr, &
    c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: gpp_open, gpp_close, gpp_set_version, gpp_sums, gpp_place, gpp_sums_at, gpp_release
  public :: gpp_sums_of_states
  public :: gpp_matrix, gpp_matrix_at, gpp_set_stream, gpp_set_progress, gpp_last_seconds
  public :: gpp_last_call_seconds, gpp_set_precision, gpp_last_error_bound, gpp_last_error_found
  public :: gpp_set_threads, gpp_threads, gpp_progress
  public :: gpp_version, gpp_device_name, gpp_last_version, gpp_message

  ! Status of a call.
  integer(c_int32_t), parameter, public :: gpp_ok = 0            ! success
  integer(c_int32_t), parameter, public :: gpp_bad_argument = 1  ! the message names the argument
  integer(c_int32_t), parameter, public :: gpp_no_device = 2     ! the device does not exist
  integer(c_int32_t), parameter, public :: gpp_device_failed = 3 ! the device or its driver failed
  integer(c_int32_t), parameter, public :: gpp_memory = 4        ! too little memory
  integer(c_int32_t), parameter, public :: gpp_stopped = 5       ! stopped by the callback of gpp_set_progress
  integer(c_int32_t), parameter, public :: gpp_internal = 6      ! internal error
  integer(c_int32_t), parameter, public :: gpp_inaccurate = 7    ! single precision is off by more than its bound

  ! Precisions of terms.
  integer(c_int32_t), parameter, public :: gpp_double = 1        ! FP64, the default
  integer(c_int32_t), parameter, public :: gpp_single = 2        ! FP32, with a bound on the error

  ! Version of the library that this file belongs to: 10000*major + 100*minor + patch.
  integer(c_int32_t), parameter :: version = 200

  character(len=*), parameter :: has_gaps = ': its elements do not follow each other in memory'//c_null_char

  ! Kinds of the formula.
  integer(c_int32_t), parameter :: berkeleygw = 1, time_ordered = 2

  ! An open device, to be closed with gpp_close; a copy is the same device.
  type, public :: gpp_calculator
    private
    type(c_ptr) :: handle = c_null_ptr
  end type gpp_calculator

  type, bind(c) :: c_screening
    integer(c_int64_t) :: ncouls, ngpown, ng
    type(c_ptr) :: wtilde
    integer(c_int64_t) :: ld_wtilde
    type(c_ptr) :: eps
    integer(c_int64_t) :: ld_eps
    type(c_ptr) :: vcoul, inv_igp_index, indinv
    integer(c_int32_t) :: on_device
  end type c_screening

  type, bind(c) :: c_bands
    integer(c_int64_t) :: nbands
    type(c_ptr) :: aqsn
    integer(c_int64_t) :: ld_aqsn
    type(c_ptr) :: aqsm
    integer(c_int64_t) :: ld_aqsm
    integer(c_int32_t) :: aqsm_local
    type(c_ptr) :: e, occ
    integer(c_int32_t) :: on_device, single
  end type c_bands

  type, bind(c) :: c_state
    type(c_bands) :: bands
    integer(c_int64_t) :: nw
    type(c_ptr) :: omega, asx, ach, derivative
  end type c_state

  type, bind(c) :: c_matrix_bands
    integer(c_int64_t) :: bands, nbands
    type(c_ptr) :: a
    integer(c_int64_t) :: ld_a
    type(c_ptr) :: e, occ
    integer(c_int32_t) :: on_device, at_bands
  end type c_matrix_bands

  type, bind(c) :: c_formula
    integer(c_int32_t) :: kind
    real(c_double) :: gamma, sexcut, eta, window
  end type c_formula

  ! The address of an array, whose name and least shape a message has.
  interface at
    module procedure at_indices, at_numbers, at_sums, at_matrix, at_cube
  end interface at

  abstract interface
    ! Callback with the fraction of a calculation done, from 0 to 1, and the registered context. A result other than 0
    ! stops the calculation: the call ends with gpp_stopped. It runs on the calling thread and must not call
    ! procedures of the calculator.
    function gpp_progress(part, context) bind(c) result(stops)
      import :: c_double, c_int32_t, c_ptr
      real(c_double), value :: part
      type(c_ptr), value :: context
      integer(c_int32_t) :: stops
    end function gpp_progress

    function number_of(handle) bind(c) result(number)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle
      integer(c_int32_t) :: number
    end function number_of

    function text_of(handle) bind(c) result(text)
      import :: c_ptr
      type(c_ptr), value :: handle
      type(c_ptr) :: text
    end function text_of

    function text_alone() bind(c) result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function text_alone
  end interface

  procedure(number_of), bind(c, name='gpp_close') :: c_close
  procedure(number_of), bind(c, name='gpp_release') :: c_release
  procedure(number_of), bind(c, name='gpp_threads') :: c_threads
  procedure(text_of), bind(c, name='gpp_device_name') :: c_device_name
  procedure(text_of), bind(c, name='gpp_last_version') :: c_last_version
  procedure(text_alone), bind(c, name='gpp_version') :: c_version
  procedure(text_alone), bind(c, name='gpp_message') :: c_message

  interface
    function c_open(device, version, first_index, handle) bind(c, name='gpp_open_version') result(status)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: device(*)
      integer(c_int32_t), value :: version, first_index
      type(c_ptr), intent(out) :: handle
      integer(c_int32_t) :: status
    end function c_open

    function c_refuse(message) bind(c, name='gpp_refuse') result(status)
      import :: c_char, c_int32_t
      character(kind=c_char), intent(in) :: message(*)
      integer(c_int32_t) :: status
    end function c_refuse

    function c_set_version(handle, id) bind(c, name='gpp_set_version') result(status)
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: id(*)
      integer(c_int32_t) :: status
    end function c_set_version

    function c_set_threads(handle, threads) bind(c, name='gpp_set_threads') result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle
      integer(c_int32_t), value :: threads
      integer(c_int32_t) :: status
    end function c_set_threads

    function c_set_precision(handle, precision, tolerance) bind(c, name='gpp_set_precision') result(status)
      import :: c_double, c_int32_t, c_ptr
      type(c_ptr), value :: handle
      integer(c_int32_t), value :: precision
      real(c_double), value :: tolerance
      integer(c_int32_t) :: status
    end function c_set_precision

    function c_set_progress(handle, progress, context) bind(c, name='gpp_set_progress') result(status)
      import :: c_funptr, c_int32_t, c_ptr
      type(c_ptr), value :: handle, context
      type(c_funptr), value :: progress
      integer(c_int32_t) :: status
    end function c_set_progress

    function c_sums(handle, screening, bands, nw, omega, formula, asx, ach, static_ch, iw, ach_of_bands) &
        bind(c, name='gpp_sums') result(status)
      import :: c_bands, c_formula, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: handle, screening
      type(c_bands), intent(in) :: bands
      integer(c_int64_t), value :: nw, iw
      type(c_ptr), value :: omega
      type(c_formula), intent(in) :: formula
      type(c_ptr), value :: asx, ach, static_ch, ach_of_bands
      integer(c_int32_t) :: status
    end function c_sums

    function c_sums_and_derivative(handle, screening, bands, nw, omega, formula, sigma, derivative) &
        bind(c, name='gpp_sums_and_derivative') result(status)
      import :: c_bands, c_formula, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: handle, screening
      type(c_bands), intent(in) :: bands
      integer(c_int64_t), value :: nw
      type(c_ptr), value :: omega
      type(c_formula), intent(in) :: formula
      type(c_ptr), value :: sigma, derivative
      integer(c_int32_t) :: status
    end function c_sums_and_derivative

    function c_sums_of_states(handle, count, states, formula) bind(c, name='gpp_sums_of_states') result(status)
      import :: c_formula, c_int32_t, c_int64_t, c_ptr, c_state
      type(c_ptr), value :: handle
      integer(c_int64_t), value :: count
      type(c_state), intent(in) :: states(*)
      type(c_formula), intent(in) :: formula
      integer(c_int32_t) :: status
    end function c_sums_of_states

    function c_matrix(handle, screening, bands, nw, omega, formula, sx, ch) &
        bind(c, name='gpp_matrix') result(status)
      import :: c_formula, c_int32_t, c_int64_t, c_matrix_bands, c_ptr
      type(c_ptr), value :: handle, screening
      type(c_matrix_bands), intent(in) :: bands
      integer(c_int64_t), value :: nw
      type(c_ptr), value :: omega
      type(c_formula), intent(in) :: formula
      type(c_ptr), value :: sx, ch
      integer(c_int32_t) :: status
    end function c_matrix

    function c_place(handle, screening) bind(c, name='gpp_place') result(status)
      import :: c_int32_t, c_ptr, c_screening
      type(c_ptr), value :: handle
      type(c_screening), intent(in) :: screening
      integer(c_int32_t) :: status
    end function c_place

    function c_set_stream(handle, stream) bind(c, name='gpp_set_stream') result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle, stream
      integer(c_int32_t) :: status
    end function c_set_stream

    function c_last_call_seconds(handle) bind(c, name='gpp_last_call_seconds') result(seconds)
      import :: c_double, c_ptr
      type(c_ptr), value :: handle
      real(c_double) :: seconds
    end function c_last_call_seconds

    function c_last_error_bound(handle) bind(c, name='gpp_last_error_bound') result(bound)
      import :: c_double, c_ptr
      type(c_ptr), value :: handle
      real(c_double) :: bound
    end function c_last_error_bound

    function c_last_error_found(handle) bind(c, name='gpp_last_error_found') result(error)
      import :: c_double, c_ptr
      type(c_ptr), value :: handle
      real(c_double) :: error
    end function c_last_error_found

    function c_last_seconds(handle) bind(c, name='gpp_last_seconds') result(seconds)
      import :: c_double, c_ptr
      type(c_ptr), value :: handle
      real(c_double) :: seconds
    end function c_last_seconds

    pure function c_strlen(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_strlen
  end interface

contains

  ! Opens 'cpu', 'gpu', 'gpu:0', 'gpu:1' and so on, or 'auto': the first GPU, or the CPU if there is none.
  subroutine gpp_open(calculator, device, status)
    type(gpp_calculator), intent(inout) :: calculator
    character(len=*), intent(in) :: device
    integer(c_int32_t), intent(out) :: status
    call gpp_close(calculator)
    status = c_open(trim(device)//c_null_char, version, 1_c_int32_t, calculator%handle)
  end subroutine gpp_open

  ! Closes a calculator; does nothing if it is not open.
  subroutine gpp_close(calculator, status)
    type(gpp_calculator), intent(inout) :: calculator
    integer(c_int32_t), intent(out), optional :: status
    integer(c_int32_t) :: ended
    ended = c_close(calculator%handle)
    calculator%handle = c_null_ptr
    if (present(status)) status = ended
  end subroutine gpp_close

  ! Selects a version; 'best', the default, depends on the problem.
  subroutine gpp_set_version(calculator, id, status)
    type(gpp_calculator), intent(in) :: calculator
    character(len=*), intent(in) :: id
    integer(c_int32_t), intent(out) :: status
    status = c_set_version(calculator%handle, trim(id)//c_null_char)
  end subroutine gpp_set_version

  ! Sets the precision of terms, gpp_double or gpp_single. Single is of the self-energy alone: calls need
  ! sigma_alone=.true., and matrices fail. As many pairs are summed in double, at most one in a hundred, as bound the
  ! error by tolerance, by default 1e-7, times the sum of the sizes of all terms. Without so many the bound is larger:
  ! gpp_last_error_bound.
  subroutine gpp_set_precision(calculator, precision, status, tolerance)
    type(gpp_calculator), intent(in) :: calculator
    integer(c_int32_t), intent(in) :: precision
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: tolerance
    real(c_double) :: share
    share = 1e-7_c_double
    if (present(tolerance)) share = tolerance
    status = c_set_precision(calculator%handle, precision, share)
  end subroutine gpp_set_precision

  ! What single precision may have lost of the self-energy at any energy in the last call, of several states at most of
  ! one, in the unit of vcoul; to be summed over ranks. 0 in double precision.
  function gpp_last_error_bound(calculator) result(bound)
    type(gpp_calculator), intent(in) :: calculator
    real(c_double) :: bound
    bound = c_last_error_bound(calculator%handle)
  end function gpp_last_error_bound

  ! What it has lost of the sums of one group of columns in 48, at least of one, which are summed in double too. A call
  ! in which this is more than the bound fails with gpp_inaccurate.
  function gpp_last_error_found(calculator) result(error)
    type(gpp_calculator), intent(in) :: calculator
    real(c_double) :: error
    error = c_last_error_found(calculator%handle)
  end function gpp_last_error_found

  ! Sets the number of CPU threads, 1 to 65535. 0 restores the default: OMP_NUM_THREADS at gpp_open, or else what the
  ! affinity mask and the cgroup of the opening thread allow. Results do not depend on it. Threads are bound to no
  ! core.
  subroutine gpp_set_threads(calculator, threads, status)
    type(gpp_calculator), intent(in) :: calculator
    integer(c_int32_t), intent(in) :: threads
    integer(c_int32_t), intent(out) :: status
    status = c_set_threads(calculator%handle, threads)
  end subroutine gpp_set_threads

  ! Number of CPU threads of a calculation; 0 if the calculator is not open.
  function gpp_threads(calculator) result(threads)
    type(gpp_calculator), intent(in) :: calculator
    integer(c_int32_t) :: threads
    threads = c_threads(calculator%handle)
  end function gpp_threads

  ! Registers a callback with the fraction done and a context, c_loc of the caller's variable or c_null_ptr; it may
  ! stop calculations. Without a procedure the callback is removed.
  subroutine gpp_set_progress(calculator, status, progress, context)
    type(gpp_calculator), intent(in) :: calculator
    integer(c_int32_t), intent(out) :: status
    procedure(gpp_progress), optional :: progress
    type(c_ptr), intent(in), optional :: context
    type(c_funptr) :: told
    type(c_ptr) :: with
    told = c_null_funptr
    with = c_null_ptr
    if (present(progress)) told = c_funloc(progress)
    if (present(context)) with = context
    status = c_set_progress(calculator%handle, told, with)
  end subroutine gpp_set_progress

  ! Computes screened exchange and Coulomb hole, summed over bands, G' and G, at the energies omega. asx and ach have
  ! the unit of vcoul and are this rank's: the caller sums them over ranks. After a failure they are unchanged.
  ! Energies are in eV, omega and e with the same zero.
  subroutine gpp_sums(calculator, wtilde, eps, vcoul, inv_igp_index, indinv, aqsn, aqsm, e, occ, omega, asx, ach, &
      status, gamma, sexcut, aqsm_local, on_device, static_ch, ach_of_bands, iw, sigma_alone, eta, window, derivative)
    type(gpp_calculator), intent(in) :: calculator
    ! As of gpp_place.
    complex(c_double_complex), intent(in), target :: wtilde(:, :), eps(:, :)
    real(c_double), intent(in), target :: vcoul(:)
    integer(c_int32_t), intent(in), target :: inv_igp_index(:), indinv(:)
    ! As of gpp_sums_at.
    class(*), intent(in), target :: aqsn(:, :), aqsm(:, :)
    real(c_double), intent(in), target :: e(:), occ(:), omega(:)
    complex(c_double_complex), intent(inout), target :: asx(:), ach(:)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut, eta, window
    logical, intent(in), optional :: aqsm_local
    ! Whether all four matrices are on the GPU.
    logical, intent(in), optional :: on_device
    ! As of gpp_sums_at.
    complex(c_double_complex), intent(inout), target, optional :: static_ch(:), ach_of_bands(:), derivative(:)
    integer, intent(in), optional :: iw
    logical, intent(in), optional :: sigma_alone
    type(c_screening), target :: screening

    call look_at(wtilde, eps, vcoul, inv_igp_index, indinv, on_device, screening, status)
    if (status == gpp_ok) call gpp_sums_at(calculator, aqsn, aqsm, e, occ, omega, asx, ach, status, gamma, sexcut, &
      aqsm_local, on_device, static_ch, ach_of_bands, iw, sigma_alone, eta, window, derivative, screening)
  end subroutine gpp_sums

  ! Computes screened exchange and Coulomb hole between all bands l and m at the energies omega: sx(l, m, iw) and
  ! ch(l, m, iw). Units, ranks and failures are as in gpp_sums; the version is the fastest for matrices.
  subroutine gpp_matrix(calculator, wtilde, eps, vcoul, inv_igp_index, indinv, a, e, occ, omega, sx, ch, status, &
      gamma, sexcut, on_device, at_bands, sigma_alone, eta, window)
    type(gpp_calculator), intent(in) :: calculator
    ! As of gpp_place.
    complex(c_double_complex), intent(in), target :: wtilde(:, :), eps(:, :)
    real(c_double), intent(in), target :: vcoul(:)
    integer(c_int32_t), intent(in), target :: inv_igp_index(:), indinv(:)
    ! As of gpp_matrix_at.
    complex(c_double_complex), intent(in), target :: a(:, :, :)
    real(c_double), intent(in), target :: e(:), occ(:), omega(:)
    complex(c_double_complex), intent(inout), target :: sx(:, :, :), ch(:, :, :)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut, eta, window
    ! Whether wtilde, eps and a are on the GPU.
    logical, intent(in), optional :: on_device
    ! As of gpp_matrix_at.
    logical, intent(in), optional :: at_bands, sigma_alone
    type(c_screening), target :: screening

    call look_at(wtilde, eps, vcoul, inv_igp_index, indinv, on_device, screening, status)
    if (status == gpp_ok) call gpp_matrix_at(calculator, a, e, occ, omega, sx, ch, status, gamma, sexcut, on_device, &
      at_bands, sigma_alone, eta, window, screening)
  end subroutine gpp_matrix

  ! Places a screening for gpp_sums_at and gpp_matrix_at, until the next one or gpp_release. Keep both matrices
  ! unchanged meanwhile; other arrays are copied. On one GPU they stay there from the first call on, if there is room.
  ! Matrices on the GPU are copied to the host once.
  subroutine gpp_place(calculator, wtilde, eps, vcoul, inv_igp_index, indinv, status, on_device)
    type(gpp_calculator), intent(in) :: calculator
    ! Poles in eV, and the identity less the inverse dielectric matrix: (ncouls, ngpown). They must be variables with
    ! the attribute target or pointer, since their addresses are stored.
    complex(c_double_complex), intent(in), pointer :: wtilde(:, :), eps(:, :)
    ! Coulomb interaction of each G, (ncouls) or more.
    real(c_double), intent(in), target :: vcoul(:)
    ! G' of each column, (ngpown) or more, indices into indinv, several columns of a G' for several poles; row of each
    ! G, other values than 1..ncouls mean none.
    integer(c_int32_t), intent(in), target :: inv_igp_index(:), indinv(:)
    integer(c_int32_t), intent(out) :: status
    ! Whether both matrices are on the GPU.
    logical, intent(in), optional :: on_device
    type(c_screening), target :: screening

    if (associated(wtilde) .and. associated(eps)) then
      call look_at(wtilde, eps, vcoul, inv_igp_index, indinv, on_device, screening, status)
    else
      status = c_refuse('wtilde or eps is not associated'//c_null_char)
    end if
    if (status == gpp_ok) status = c_place(calculator%handle, screening)
  end subroutine gpp_place

  ! gpp_sums with the placed screening. Callers omit the last argument.
  subroutine gpp_sums_at(calculator, aqsn, aqsm, e, occ, omega, asx, ach, status, gamma, sexcut, aqsm_local, &
      on_device, static_ch, ach_of_bands, iw, sigma_alone, eta, window, derivative, screening)
    type(gpp_calculator), intent(in) :: calculator
    ! Matrix elements of G and of G', (ncouls, nbands) or more; only the first rows are used. Both are of the kind
    ! c_double_complex, or of c_float_complex, of which a call makes a copy.
    class(*), intent(in), target :: aqsn(:, :), aqsm(:, :)
    ! Energy in eV and occupation, 0 to 1, of each band: (nbands).
    real(c_double), intent(in), target :: e(:), occ(:)
    ! Energies in eV, (nw).
    real(c_double), intent(in), target :: omega(:)
    ! The results: (nw) or more, of which the first are written.
    complex(c_double_complex), intent(inout), target :: asx(:), ach(:)
    integer(c_int32_t), intent(out) :: status
    ! sig%gamma in eV and sig%sexcut; 0.5 and 4 by default. With eta the time-ordered formula is in the place of
    ! BerkeleyGW's: with w = omega - e and the broadening eta in eV, the sum of asx and ach is that of
    ! vcoul wtilde eps M/2 ((1 - occ)/(w - wtilde + i eta) + occ/(w + wtilde - i eta)). Nearer to a real pole than
    ! window, ABINIT's zcut in eV, eta is as large; then it is 0 elsewhere, asx is zero, and matrices need a CPU.
    real(c_double), intent(in), optional :: gamma, sexcut, eta, window
    ! Whether aqsm is (ngpown, nbands): the rows of this rank's G' alone.
    logical, intent(in), optional :: aqsm_local
    ! Whether both matrices are on the GPU.
    logical, intent(in), optional :: on_device
    ! The static CH of each band, -1/2 times the sum of vcoul eps conj(aqsm) aqsn, which is acc_static_ch's; and CH of
    ! each band at omega(iw): (nbands) or more, of which the first are written.
    complex(c_double_complex), intent(inout), target, optional :: static_ch(:), ach_of_bands(:)
    integer, intent(in), optional :: iw
    ! Whether only the sum of both is computed, the self-energy, and written to ach; asx is zero then.
    logical, intent(in), optional :: sigma_alone
    ! The derivative of the self-energy with respect to omega, in the unit of vcoul per eV: (nw) or more. asx is zero
    ! then and ach the self-energy, and neither static_ch nor ach_of_bands is possible.
    complex(c_double_complex), intent(inout), target, optional :: derivative(:)
    type(c_screening), intent(in), target, optional :: screening
    type(c_bands) :: bands
    type(c_ptr) :: given, at_omega, to(4), rate
    integer :: nbands
    integer(c_int64_t) :: energy

    status = gpp_ok
    nbands = size(e)
    bands%nbands = nbands
    call look_at_elements(aqsn, aqsm, nbands, bands, status)
    if (bands%ld_aqsn /= size(aqsn, 1)) status = c_refuse('aqsn'//has_gaps)
    if (bands%ld_aqsm /= size(aqsm, 1)) status = c_refuse('aqsm'//has_gaps)
    bands%aqsm_local = flag(aqsm_local)
    bands%e = at('e', e, 0, status)
    bands%occ = at('occ', occ, nbands, status)
    bands%on_device = flag(on_device)
    at_omega = at('omega', omega, 0, status)
    to(1) = at('asx', asx, size(omega), status)
    if (flag(sigma_alone) == 1) to(1) = c_null_ptr
    to(2) = at('ach', ach, size(omega), status)
    to(3:) = c_null_ptr
    if (present(static_ch)) to(3) = at('static_ch', static_ch, nbands, status)
    if (present(ach_of_bands)) to(4) = at('ach_of_bands', ach_of_bands, nbands, status)
    energy = 0
    if (present(iw)) energy = iw
    given = c_null_ptr
    if (present(screening)) given = c_loc(screening)
    if (present(derivative)) then
      rate = at('derivative', derivative, size(omega), status)
      if (present(static_ch) .or. present(ach_of_bands)) status = &
        c_refuse('derivative is not possible with static_ch or ach_of_bands'//c_null_char)
      if (status == gpp_ok) status = c_sums_and_derivative(calculator%handle, given, bands, int(size(omega), c_int64_t), &
        at_omega, limits(gamma, sexcut, eta, window), to(2), rate)
      if (status == gpp_ok) asx(:size(omega)) = 0
      return
    end if
    if (status == gpp_ok) status = c_sums(calculator%handle, given, bands, int(size(omega), c_int64_t), at_omega, &
      limits(gamma, sexcut, eta, window), to(1), to(2), to(3), energy, to(4))
    if (status == gpp_ok .and. flag(sigma_alone) == 1) asx(:size(omega)) = 0
  end subroutine gpp_sums_at

  ! gpp_sums_at for many states, the last index of all arrays but e and occ, with the same bits in less time than by a
  ! call for each. aqsn and aqsm may be sections of larger arrays, a(:ncouls, :, :), in which elements of a column follow
  ! each other.
  subroutine gpp_sums_of_states(calculator, aqsn, aqsm, e, occ, omega, asx, ach, status, gamma, sexcut, aqsm_local, &
      on_device, sigma_alone, eta, window, derivative)
    type(gpp_calculator), intent(in) :: calculator
    ! Matrix elements of G and of G', (ncouls, nbands, states), of the kinds of gpp_sums_at.
    class(*), intent(in), target :: aqsn(:, :, :), aqsm(:, :, :)
    ! Energy in eV and occupation, 0 to 1, of each band: (nbands).
    real(c_double), intent(in), target :: e(:), occ(:)
    ! Energies in eV, (nw, states).
    real(c_double), intent(in), target :: omega(:, :)
    ! The results: (nw, states).
    complex(c_double_complex), intent(inout), target :: asx(:, :), ach(:, :)
    integer(c_int32_t), intent(out) :: status
    ! As of gpp_sums_at; derivative is (nw, states).
    real(c_double), intent(in), optional :: gamma, sexcut, eta, window
    logical, intent(in), optional :: aqsm_local, on_device, sigma_alone
    complex(c_double_complex), intent(inout), target, optional :: derivative(:, :)
    type(c_state), allocatable :: states(:)
    type(c_ptr) :: found
    integer :: i, nbands, nw, count
    logical :: is_alone

    status = gpp_ok
    nbands = size(e)
    nw = size(omega, 1)
    count = size(omega, 2)
    found = at('asx', asx, [nw, count], status)
    found = at('ach', ach, [nw, count], status)
    if (present(derivative)) found = at('derivative', derivative, [nw, count], status)
    is_alone = flag(sigma_alone) == 1 .or. present(derivative)
    if (size(aqsn, 3) < count .or. size(aqsm, 3) < count) status = c_refuse('aqsn or aqsm has fewer states'//c_null_char)
    allocate (states(count))
    do i = 1, count
      if (status /= gpp_ok) return
      states(i)%bands%nbands = nbands
      call look_at_elements(aqsn(:, :, i), aqsm(:, :, i), nbands, states(i)%bands, status)
      states(i)%bands%aqsm_local = flag(aqsm_local)
      states(i)%bands%e = at('e', e, 0, status)
      states(i)%bands%occ = at('occ', occ, nbands, status)
      states(i)%bands%on_device = flag(on_device)
      states(i)%nw = nw
      states(i)%omega = at('omega', omega(:, i), 0, status)
      states(i)%asx = at('asx', asx(:, i), nw, status)
      if (is_alone) states(i)%asx = c_null_ptr
      states(i)%ach = at('ach', ach(:, i), nw, status)
      states(i)%derivative = c_null_ptr
      if (present(derivative)) states(i)%derivative = at('derivative', derivative(:, i), nw, status)
    end do
    if (status == gpp_ok) status = c_sums_of_states(calculator%handle, int(count, c_int64_t), states, &
      limits(gamma, sexcut, eta, window))
    if (status == gpp_ok .and. is_alone) asx(:, :count) = 0
  end subroutine gpp_sums_of_states

  subroutine look_at_elements(aqsn, aqsm, nbands, bands, status)
    class(*), intent(in), target :: aqsn(:, :), aqsm(:, :)
    integer, intent(in) :: nbands
    type(c_bands), intent(inout) :: bands
    integer(c_int32_t), intent(inout) :: status
    integer(c_int32_t) :: single
    call section('aqsn', aqsn, nbands, bands%aqsn, bands%ld_aqsn, bands%single, status)
    call section('aqsm', aqsm, nbands, bands%aqsm, bands%ld_aqsm, single, status)
    if (status == gpp_ok .and. single /= bands%single) &
      status = c_refuse('aqsn and aqsm are of different kinds'//c_null_char)
  end subroutine look_at_elements

  ! The address of a matrix whose columns may have gaps between them, elements from one column to the next, and 1 for
  ! single precision.
  subroutine section(name, matrix, columns, address, ld, single, status)
    character(len=*), intent(in) :: name
    class(*), intent(in), target :: matrix(:, :)
    integer, intent(in) :: columns
    type(c_ptr), intent(out) :: address
    integer(c_int64_t), intent(out) :: ld
    integer(c_int32_t), intent(out) :: single
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: ends(3)
    integer(c_intptr_t) :: between
    integer :: rows, bytes

    rows = size(matrix, 1)
    ld = rows
    single = 0
    address = required(name, [c_null_ptr, c_null_ptr], 0, [rows, size(matrix, 2)], [rows, columns], status)
    if (size(matrix) == 0 .or. columns == 0 .or. status /= gpp_ok) return
    select type (matrix)
    type is (complex(c_double_complex))
      ends = [c_loc(matrix(1, 1)), c_loc(matrix(rows, 1)), c_loc(matrix(1, min(2, columns)))]
    type is (complex(c_float_complex))
      single = 1
      ends = [c_loc(matrix(1, 1)), c_loc(matrix(rows, 1)), c_loc(matrix(1, min(2, columns)))]
    class default
      status = c_refuse(name//' is neither c_double_complex nor c_float_complex'//c_null_char)
      return
    end select
    bytes = merge(8, 16, single == 1)
    address = required(name, ends(:2), bytes, [rows], [rows], status)
    if (columns == 1) return
    between = transfer(ends(3), between) - transfer(ends(1), between)
    if (mod(between, int(bytes, c_intptr_t)) /= 0 .or. between < bytes*ld) then
      status = c_refuse(name//': its columns do not follow each other in memory'//c_null_char)
    end if
    ld = between/bytes
  end subroutine section

  ! gpp_matrix with the placed screening. Callers omit the last argument.
  subroutine gpp_matrix_at(calculator, a, e, occ, omega, sx, ch, status, gamma, sexcut, on_device, at_bands, &
      sigma_alone, eta, window, screening)
    type(gpp_calculator), intent(in) :: calculator
    ! a(ig, n, l), matrix elements of band l with band n: (ncouls, nbands, bands). Of more rows the first are used,
    ! and copied. On a GPU it is copied to the host.
    complex(c_double_complex), intent(in), target :: a(:, :, :)
    ! Energy in eV and occupation, 0 to 1, of each band n: (nbands).
    real(c_double), intent(in), target :: e(:), occ(:)
    ! Energies in eV, (nw).
    real(c_double), intent(in), target :: omega(:)
    ! The matrices: (bands, bands, nw), or more energies, of which the first are written.
    complex(c_double_complex), intent(inout), target :: sx(:, :, :), ch(:, :, :)
    integer(c_int32_t), intent(out) :: status
    ! As of gpp_sums_at.
    real(c_double), intent(in), optional :: gamma, sexcut, eta, window
    ! Whether a is on the GPU.
    logical, intent(in), optional :: on_device
    ! Whether omega has the energy of each band l, so that nw is bands. sx and ch are then (bands, bands, 2): rows at
    ! their band's energy, Sigma_lm(omega_l), then columns, Sigma_lm(omega_m), as QSGW and GWPT use them.
    logical, intent(in), optional :: at_bands
    ! Whether only the sum of both is computed, the self-energy, and written to ch; sx is zero then.
    logical, intent(in), optional :: sigma_alone
    type(c_screening), intent(in), target, optional :: screening
    type(c_matrix_bands) :: of
    type(c_ptr) :: given, at_omega, to(2)
    integer :: bands, nbands, rows, matrices

    status = gpp_ok
    rows = size(a, 1)
    nbands = size(e)
    bands = size(a, 3)
    matrices = merge(2, size(omega), flag(at_bands) == 1)
    of%bands = bands
    of%nbands = nbands
    of%a = at('a', a, [rows, nbands, bands], status)
    of%ld_a = rows
    of%e = at('e', e, 0, status)
    of%occ = at('occ', occ, nbands, status)
    of%on_device = flag(on_device)
    of%at_bands = flag(at_bands)
    at_omega = at('omega', omega, 0, status)
    to(1) = at('sx', sx, [bands, bands, matrices], status)
    if (flag(sigma_alone) == 1) to(1) = c_null_ptr
    to(2) = at('ch', ch, [bands, bands, matrices], status)
    given = c_null_ptr
    if (present(screening)) given = c_loc(screening)
    if (status == gpp_ok) status = c_matrix(calculator%handle, given, of, int(size(omega), c_int64_t), at_omega, &
      limits(gamma, sexcut, eta, window), to(1), to(2))
    if (status == gpp_ok .and. flag(sigma_alone) == 1) sx(:bands, :bands, :matrices) = 0
  end subroutine gpp_matrix_at

  ! Releases the placed screening.
  subroutine gpp_release(calculator, status)
    type(gpp_calculator), intent(in) :: calculator
    integer(c_int32_t), intent(out) :: status
    status = c_release(calculator%handle)
  end subroutine gpp_release

  ! Sets the stream that produces arrays on the GPU, from cudaStreamCreate or acc_get_cuda_stream; c_null_ptr is the
  ! default stream. A call that reads such arrays waits for its pending work.
  subroutine gpp_set_stream(calculator, stream, status)
    type(gpp_calculator), intent(in) :: calculator
    type(c_ptr), intent(in) :: stream
    integer(c_int32_t), intent(out) :: status
    status = c_set_stream(calculator%handle, stream)
  end subroutine gpp_set_stream

  ! Kernel time of the last call in seconds.
  function gpp_last_seconds(calculator) result(seconds)
    type(gpp_calculator), intent(in) :: calculator
    real(c_double) :: seconds
    seconds = c_last_seconds(calculator%handle)
  end function gpp_last_seconds

  ! Time of the whole last call in seconds: kernels, checks, copies and lists of pairs.
  function gpp_last_call_seconds(calculator) result(seconds)
    type(gpp_calculator), intent(in) :: calculator
    real(c_double) :: seconds
    seconds = c_last_call_seconds(calculator%handle)
  end function gpp_last_call_seconds

  function flag(given) result(is)
    logical, intent(in), optional :: given
    integer(c_int32_t) :: is
    is = 0
    if (present(given)) is = merge(1_c_int32_t, 0_c_int32_t, given)
  end function flag

  function limits(gamma, sexcut, eta, window) result(formula)
    real(c_double), intent(in), optional :: gamma, sexcut, eta, window
    type(c_formula) :: formula
    formula = c_formula(berkeleygw, 0.5_c_double, 4.0_c_double, 0.0_c_double, 0.0_c_double)
    if (present(gamma)) formula%gamma = gamma
    if (present(sexcut)) formula%sexcut = sexcut
    if (present(eta) .or. present(window)) formula%kind = time_ordered
    if (present(eta)) formula%eta = eta
    if (present(window)) formula%window = window
  end function limits

  subroutine look_at(wtilde, eps, vcoul, inv_igp_index, indinv, on_device, screening, status)
    complex(c_double_complex), intent(in), target :: wtilde(:, :), eps(:, :)
    real(c_double), intent(in), target :: vcoul(:)
    integer(c_int32_t), intent(in), target :: inv_igp_index(:), indinv(:)
    logical, intent(in), optional :: on_device
    type(c_screening), intent(out) :: screening
    integer(c_int32_t), intent(out) :: status

    status = gpp_ok
    screening%ncouls = size(wtilde, 1)
    screening%ngpown = size(wtilde, 2)
    screening%ng = size(indinv)
    screening%wtilde = at('wtilde', wtilde, shape(wtilde), status)
    screening%ld_wtilde = size(wtilde, 1)
    screening%eps = at('eps', eps, shape(wtilde), status)
    screening%ld_eps = size(wtilde, 1)
    screening%vcoul = at('vcoul', vcoul, size(wtilde, 1), status)
    screening%inv_igp_index = at('inv_igp_index', inv_igp_index, size(wtilde, 2), status)
    screening%indinv = at('indinv', indinv, 0, status)
    screening%on_device = flag(on_device)
  end subroutine look_at

  function at_indices(name, array, least, status) result(address)
    character(len=*), intent(in) :: name
    integer(c_int32_t), intent(in), target :: array(:)
    integer, intent(in) :: least
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: address, ends(2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1)), c_loc(array(size(array)))]
    address = required(name, ends, 4, shape(array), [least], status)
  end function at_indices

  function at_numbers(name, array, least, status) result(address)
    character(len=*), intent(in) :: name
    real(c_double), intent(in), target :: array(:)
    integer, intent(in) :: least
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: address, ends(2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1)), c_loc(array(size(array)))]
    address = required(name, ends, 8, shape(array), [least], status)
  end function at_numbers

  function at_sums(name, array, least, status) result(address)
    character(len=*), intent(in) :: name
    complex(c_double_complex), intent(in), target :: array(:)
    integer, intent(in) :: least
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: address, ends(2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1)), c_loc(array(size(array)))]
    address = required(name, ends, 16, shape(array), [least], status)
  end function at_sums

  function at_matrix(name, array, least, status) result(address)
    character(len=*), intent(in) :: name
    complex(c_double_complex), intent(in), target :: array(:, :)
    integer, intent(in) :: least(2)
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: address, ends(2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1)), c_loc(array(size(array, 1), size(array, 2)))]
    address = required(name, ends, 16, shape(array), least, status)
  end function at_matrix

  function at_cube(name, array, least, status) result(address)
    character(len=*), intent(in) :: name
    complex(c_double_complex), intent(in), target :: array(:, :, :)
    integer, intent(in) :: least(3)
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: address, ends(2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1, 1)), c_loc(array(size(array, 1), size(array, 2), size(array, 3)))]
    address = required(name, ends, 16, shape(array), least, status)
  end function at_cube

  ! The address of an array with these ends. One that has gaps is refused, as the ends tell, and one of another shape:
  ! of the last index there may be more. gfortran 12 has is_contiguous false for one column, so it is not asked.
  function required(name, ends, bytes, found, least, status) result(address)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: ends(2)
    integer, intent(in) :: bytes, found(:), least(:)
    integer(c_int32_t), intent(inout) :: status
    type(c_ptr) :: address
    character(len=160) :: text
    integer(c_intptr_t) :: elements
    integer :: last
    address = ends(1)
    if (status /= gpp_ok) return
    last = size(found)
    elements = product(int(found, c_intptr_t))
    if (transfer(ends(2), elements) - transfer(ends(1), elements) /= bytes*max(elements - 1, 0_c_intptr_t)) then
      status = c_refuse(name//has_gaps)
    else if (any(found(:last - 1) /= least(:last - 1)) .or. found(last) < least(last)) then
      write (text, '(2a, *(i0, :, ", "))') name, ': has the shape ', found
      write (text(len_trim(text) + 1:), '(a, *(i0, :, ", "))') '; needed is ', least
      status = c_refuse(trim(text)//c_null_char)
    end if
  end function required

  ! The library's version, as in '0.2.0'.
  function gpp_version() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_version())
  end function gpp_version

  ! Name of the device.
  function gpp_device_name(calculator) result(text)
    type(gpp_calculator), intent(in) :: calculator
    character(len=:), allocatable :: text
    text = from_c(c_device_name(calculator%handle))
  end function gpp_device_name

  ! The version of the last gpp_sums or gpp_matrix; empty if none ran.
  function gpp_last_version(calculator) result(text)
    type(gpp_calculator), intent(in) :: calculator
    character(len=:), allocatable :: text
    text = from_c(c_last_version(calculator%handle))
  end function gpp_last_version

  ! Reason of the last failed call of this thread.
  function gpp_message() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_message())
  end function gpp_message

  function from_c(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: signs(:)
    integer :: i, length
    length = 0
    if (c_associated(address)) length = int(c_strlen(address))
    allocate (character(len=length) :: text)
    if (length == 0) return
    call c_f_pointer(address, signs, [length])
    do i = 1, length
      text(i:i) = signs(i)
    end do
  end function from_c
end module gpp
