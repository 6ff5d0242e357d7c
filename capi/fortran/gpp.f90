! gpp for programs in Fortran: BerkeleyGW's GPP sums, on GPUs and processors. Compile this file with the
! program and link libgpp. Arrays are BerkeleyGW's: column-major, indices from 1. Matrices may be on a GPU:
! with OpenACC `!$acc host_data use_device(...)` around the call, and on_device=.true.; the rest on the host.
! No call prints or stops the program; a status other than gpp_ok has its reason in gpp_message.
! Long because it is one file to compile, and has each procedure's interface to C.
module gpp
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_double_complex, &
    c_f_pointer, c_int32_t, c_int64_t, c_loc, c_null_char, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: gpp_open, gpp_close, gpp_set_version, gpp_sums, gpp_place, gpp_sums_at, gpp_release, gpp_bound
  public :: gpp_matrix, gpp_matrix_at, gpp_set_stream, gpp_workspace, gpp_last_seconds
  public :: gpp_set_threads, gpp_threads
  public :: gpp_version, gpp_device_name, gpp_last_version, gpp_message

  ! How a call ended.
  integer(c_int32_t), parameter, public :: gpp_ok = 0            ! all went well
  integer(c_int32_t), parameter, public :: gpp_bad_argument = 1  ! the message names it
  integer(c_int32_t), parameter, public :: gpp_no_device = 2     ! the device is not there
  integer(c_int32_t), parameter, public :: gpp_device_failed = 3 ! it refused an operation
  integer(c_int32_t), parameter, public :: gpp_memory = 4        ! too little of it
  integer(c_int32_t), parameter, public :: gpp_stopped = 5       ! who was told stopped it
  integer(c_int32_t), parameter, public :: gpp_internal = 6      ! a fault of gpp

  ! An open device. It is to be closed; a copy is the same device.
  type, public :: gpp_calculator
    private
    type(c_ptr) :: handle = c_null_ptr
    ! Which array of the last call does not fit, an index into shapes.
    integer :: unfit = 0
    ! Rows and columns of what gpp_place has placed.
    integer :: placed(2) = 0
  end type gpp_calculator

  ! What arrays have; vectors and matrices may have more.
  character(len=*), parameter :: shapes(15) = [character(len=48) :: &
    'I_eps_array(ncouls, ngpown), as wtilde_array', 'vcoul(ncouls)', 'inv_igp_index(ngpown)', &
    'aqsntemp(ncouls, nbands)', 'aqsmtemp(ncouls, nbands)', 'aqsmtemp(ngpown, nbands)', &
    'occ(nbands), as e', 'asx(nw), as omega', 'ach(nw), as omega', 'indinv(1)', &
    'of_asx(nw), as omega', 'of_ach(nw), as omega', 'a(ncouls, nbands, bands), nbands as e', &
    'sx(bands, bands, nw), bands as a', 'ch(bands, bands, nw), bands as a']

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
    integer(c_int32_t) :: on_device
  end type c_bands

  type, bind(c) :: c_matrix_bands
    integer(c_int64_t) :: bands, nbands
    type(c_ptr) :: a
    integer(c_int64_t) :: ld_a
    type(c_ptr) :: e, occ
    integer(c_int32_t) :: on_device, at_bands
  end type c_matrix_bands

  type, bind(c) :: c_sizes
    integer(c_int64_t) :: ncouls, ngpown, nbands, nw
    integer(c_int32_t) :: screening_on_device, bands_on_device
  end type c_sizes

  type, bind(c) :: c_formula
    real(c_double) :: gamma, sexcut
  end type c_formula

  interface
    function c_open(device, handle) bind(c, name='gpp_open') result(status)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: device(*)
      type(c_ptr), intent(out) :: handle
      integer(c_int32_t) :: status
    end function c_open

    function c_close(handle) bind(c, name='gpp_close') result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle
      integer(c_int32_t) :: status
    end function c_close

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

    function c_threads(handle) bind(c, name='gpp_threads') result(threads)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle
      integer(c_int32_t) :: threads
    end function c_threads

    function c_sums(handle, screening, bands, nw, omega, formula, asx, ach, static_ch) &
        bind(c, name='gpp_sums') result(status)
      import :: c_bands, c_formula, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: handle, screening
      type(c_bands), intent(in) :: bands
      integer(c_int64_t), value :: nw
      type(c_ptr), value :: omega
      type(c_formula), intent(in) :: formula
      type(c_ptr), value :: asx, ach, static_ch
      integer(c_int32_t) :: status
    end function c_sums

    function c_bound(handle, screening, bands, nw, omega, formula, columns, asx, ach) &
        bind(c, name='gpp_bound') result(status)
      import :: c_bands, c_formula, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: handle, screening
      type(c_bands), intent(in) :: bands
      integer(c_int64_t), value :: nw
      type(c_ptr), value :: omega
      type(c_formula), intent(in) :: formula
      integer(c_int64_t), value :: columns
      type(c_ptr), value :: asx, ach
      integer(c_int32_t) :: status
    end function c_bound

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

    function c_release(handle) bind(c, name='gpp_release') result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle
      integer(c_int32_t) :: status
    end function c_release

    function c_set_stream(handle, stream) bind(c, name='gpp_set_stream') result(status)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: handle, stream
      integer(c_int32_t) :: status
    end function c_set_stream

    function c_workspace(handle, sizes, host, device) bind(c, name='gpp_workspace') result(status)
      import :: c_int32_t, c_int64_t, c_ptr, c_sizes
      type(c_ptr), value :: handle
      type(c_sizes), intent(in) :: sizes
      integer(c_int64_t), intent(out) :: host, device
      integer(c_int32_t) :: status
    end function c_workspace

    function c_last_seconds(handle) bind(c, name='gpp_last_seconds') result(seconds)
      import :: c_double, c_ptr
      type(c_ptr), value :: handle
      real(c_double) :: seconds
    end function c_last_seconds

    function c_version() bind(c, name='gpp_version') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function c_version

    function c_device_name(handle) bind(c, name='gpp_device_name') result(text)
      import :: c_ptr
      type(c_ptr), value :: handle
      type(c_ptr) :: text
    end function c_device_name

    function c_last_version(handle) bind(c, name='gpp_last_version') result(text)
      import :: c_ptr
      type(c_ptr), value :: handle
      type(c_ptr) :: text
    end function c_last_version

    function c_message(handle) bind(c, name='gpp_message') result(text)
      import :: c_ptr
      type(c_ptr), value :: handle
      type(c_ptr) :: text
    end function c_message

    pure function c_strlen(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function c_strlen
  end interface

contains

  ! Opens 'cpu', 'gpu', 'gpu:0', 'gpu:1' and so on, or 'auto': the first GPU, or the processor where there
  ! is none.
  subroutine gpp_open(calculator, device, status)
    type(gpp_calculator), intent(inout) :: calculator
    character(len=*), intent(in) :: device
    integer(c_int32_t), intent(out) :: status
    call gpp_close(calculator)
    status = c_open(trim(device)//c_null_char, calculator%handle)
  end subroutine gpp_open

  ! Closes it; one that is not open stays so.
  subroutine gpp_close(calculator, status)
    type(gpp_calculator), intent(inout) :: calculator
    integer(c_int32_t), intent(out), optional :: status
    integer(c_int32_t) :: ended
    ended = c_close(calculator%handle)
    calculator = gpp_calculator()
    if (present(status)) status = ended
  end subroutine gpp_close

  ! Runs this version in place of the fastest for each problem; 'best' is the fastest again.
  subroutine gpp_set_version(calculator, id, status)
    type(gpp_calculator), intent(inout) :: calculator
    character(len=*), intent(in) :: id
    integer(c_int32_t), intent(out) :: status
    calculator%unfit = 0
    status = c_set_version(calculator%handle, trim(id)//c_null_char)
  end subroutine gpp_set_version

  ! Computes on so many threads of the processor, 1 to 65535; 0 takes that back: then there are as many as
  ! OMP_NUM_THREADS said at gpp_open, else as many as the affinity mask and the cgroup of the thread that called it
  ! leave room for. Sums have the same bits for any number. Threads are bound to no core.
  subroutine gpp_set_threads(calculator, threads, status)
    type(gpp_calculator), intent(inout) :: calculator
    integer(c_int32_t), intent(in) :: threads
    integer(c_int32_t), intent(out) :: status
    calculator%unfit = 0
    status = c_set_threads(calculator%handle, threads)
  end subroutine gpp_set_threads

  ! How many threads of the processor a calculation has at most; 0 where the calculator is not open.
  function gpp_threads(calculator) result(threads)
    type(gpp_calculator), intent(in) :: calculator
    integer(c_int32_t) :: threads
    threads = c_threads(calculator%handle)
  end function gpp_threads

  ! Sums screened exchange and Coulomb hole over bands, G' and G at the energies omega. asx and ach have the
  ! unit of vcoul, and are this rank's: the caller sums them over ranks. After a failure they are as they
  ! were. Energies are in eV, those of omega and e from the same zero. An array whose elements do not follow
  ! each other in memory is copied by the compiler.
  subroutine gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, &
      aqsmtemp, e, occ, omega, asx, ach, status, gamma, sexcut, aqsm_local, on_device, static_ch)
    type(gpp_calculator), intent(inout) :: calculator
    ! As of gpp_place.
    complex(c_double_complex), intent(in), target, contiguous :: wtilde_array(:, :), I_eps_array(:, :)
    real(c_double), intent(in), target, contiguous :: vcoul(:)
    integer(c_int32_t), intent(in), target, contiguous :: inv_igp_index(:), indinv(:)
    ! As of gpp_sums_at.
    complex(c_double_complex), intent(in), target, contiguous :: aqsntemp(:, :), aqsmtemp(:, :)
    real(c_double), intent(in), target, contiguous :: e(:), occ(:), omega(:)
    complex(c_double_complex), intent(inout), target, contiguous :: asx(:), ach(:)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut
    logical, intent(in), optional :: aqsm_local
    ! Whether all four matrices are on the GPU.
    logical, intent(in), optional :: on_device
    ! As of gpp_sums_at.
    complex(c_double_complex), intent(inout), target, optional :: static_ch
    type(c_screening), target :: screening

    call look_at(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, on_device, screening)
    call sum_at(calculator, c_loc(screening), shape(wtilde_array), aqsntemp, aqsmtemp, e, occ, omega, status, &
      gamma, sexcut, aqsm_local, on_device, asx=asx, ach=ach, static_ch=static_ch)
  end subroutine gpp_sums

  ! How far the sums of gpp_sums, by any version, may be from exact ones, by the absolute value, at each energy:
  ! from the terms of so many columns at most, on the processor. Of all columns that is a bound, of fewer an
  ! estimate of it. Other arguments as of gpp_sums, in the host's memory.
  subroutine gpp_bound(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, &
      aqsmtemp, e, occ, omega, columns, of_asx, of_ach, status, gamma, sexcut, aqsm_local)
    type(gpp_calculator), intent(inout) :: calculator
    complex(c_double_complex), intent(in), target, contiguous :: wtilde_array(:, :), I_eps_array(:, :)
    real(c_double), intent(in), target, contiguous :: vcoul(:)
    integer(c_int32_t), intent(in), target, contiguous :: inv_igp_index(:), indinv(:)
    complex(c_double_complex), intent(in), target, contiguous :: aqsntemp(:, :), aqsmtemp(:, :)
    real(c_double), intent(in), target, contiguous :: e(:), occ(:), omega(:)
    integer, intent(in) :: columns
    ! (nw) or more, of which the first are written, in the unit of vcoul.
    real(c_double), intent(inout), target, contiguous :: of_asx(:), of_ach(:)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut
    logical, intent(in), optional :: aqsm_local
    type(c_screening), target :: screening

    call look_at(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, .false., screening)
    call sum_at(calculator, c_loc(screening), shape(wtilde_array), aqsntemp, aqsmtemp, e, occ, omega, status, &
      gamma, sexcut, aqsm_local, columns=columns, of_asx=of_asx, of_ach=of_ach)
  end subroutine gpp_bound

  ! Sums screened exchange and Coulomb hole between all bands l and m at the energies omega: sx(l, m, iw) and
  ! ch(l, m, iw). Units, ranks and failures as of gpp_sums; the version is the fastest for matrices.
  subroutine gpp_matrix(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, a, e, occ, omega, &
      sx, ch, status, gamma, sexcut, on_device, at_bands)
    type(gpp_calculator), intent(inout) :: calculator
    ! As of gpp_place.
    complex(c_double_complex), intent(in), target, contiguous :: wtilde_array(:, :), I_eps_array(:, :)
    real(c_double), intent(in), target, contiguous :: vcoul(:)
    integer(c_int32_t), intent(in), target, contiguous :: inv_igp_index(:), indinv(:)
    ! As of gpp_matrix_at.
    complex(c_double_complex), intent(in), target, contiguous :: a(:, :, :)
    real(c_double), intent(in), target, contiguous :: e(:), occ(:), omega(:)
    complex(c_double_complex), intent(inout), target, contiguous :: sx(:, :, :), ch(:, :, :)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut
    ! Whether wtilde_array, I_eps_array and a are on the GPU.
    logical, intent(in), optional :: on_device
    ! As of gpp_matrix_at.
    logical, intent(in), optional :: at_bands
    type(c_screening), target :: screening

    call look_at(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, on_device, screening)
    call matrix_of(calculator, c_loc(screening), size(wtilde_array, 1), a, e, occ, omega, sx, ch, status, gamma, &
      sexcut, on_device, at_bands)
  end subroutine gpp_matrix

  ! gpp_matrix of the screening that gpp_place has placed.
  subroutine gpp_matrix_at(calculator, a, e, occ, omega, sx, ch, status, gamma, sexcut, on_device, at_bands)
    type(gpp_calculator), intent(inout) :: calculator
    ! a(ig, n, l), matrix elements of band l with band n: (ncouls, nbands, bands); of more rows the first are
    ! taken, which copies. One that is on the GPU is brought to the host as a whole.
    complex(c_double_complex), intent(in), target, contiguous :: a(:, :, :)
    ! Energy in eV and occupation, 0 to 1, of each band n: (nbands).
    real(c_double), intent(in), target, contiguous :: e(:), occ(:)
    ! Energies of the sums in eV, (nw).
    real(c_double), intent(in), target, contiguous :: omega(:)
    ! The matrices: (bands, bands, nw), or more energies, of which the first are written.
    complex(c_double_complex), intent(inout), target, contiguous :: sx(:, :, :), ch(:, :, :)
    integer(c_int32_t), intent(out) :: status
    ! sig%gamma in eV and sig%sexcut; 0.5 and 4 where they are not given.
    real(c_double), intent(in), optional :: gamma, sexcut
    ! Whether a is on the GPU.
    logical, intent(in), optional :: on_device
    ! Whether omega has the energy of each band l, so that nw is bands. sx and ch are (bands, bands, 2) then: rows at
    ! the energies of their bands, Sigma_lm(omega_l), and columns, Sigma_lm(omega_m), as QSGW and GWPT take them.
    logical, intent(in), optional :: at_bands

    calculator%unfit = 0
    call matrix_of(calculator, c_null_ptr, calculator%placed(1), a, e, occ, omega, sx, ch, status, gamma, &
      sexcut, on_device, at_bands)
  end subroutine gpp_matrix_at

  ! Places a screening for gpp_sums_at and gpp_matrix_at, until the next one or gpp_release. Both matrices have the attribute
  ! target and stay as they are meanwhile; the rest is copied. On one GPU they stay there from the first sums
  ! on, where there is room. What is on the GPU is brought to the host once, and stays there too.
  subroutine gpp_place(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, status, on_device)
    type(gpp_calculator), intent(inout) :: calculator
    ! Modes in eV, and the identity less the inverse dielectric matrix: (ncouls, ngpown).
    complex(c_double_complex), intent(in), target, contiguous :: wtilde_array(:, :), I_eps_array(:, :)
    ! Coulomb interaction of each G, (ncouls) or more.
    real(c_double), intent(in), target, contiguous :: vcoul(:)
    ! G' of each column, (ngpown) or more, indices into indinv; row of each G, others than 1..ncouls: none.
    integer(c_int32_t), intent(in), target, contiguous :: inv_igp_index(:), indinv(:)
    integer(c_int32_t), intent(out) :: status
    ! Whether both matrices are on the GPU.
    logical, intent(in), optional :: on_device
    type(c_screening), target :: screening

    call look_at(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, on_device, screening)
    status = gpp_bad_argument
    if (calculator%unfit == 0) status = c_place(calculator%handle, screening)
    if (status == gpp_ok) calculator%placed = shape(wtilde_array)
  end subroutine gpp_place

  ! gpp_sums of the screening that gpp_place has placed.
  subroutine gpp_sums_at(calculator, aqsntemp, aqsmtemp, e, occ, omega, asx, ach, status, gamma, sexcut, &
      aqsm_local, on_device, static_ch)
    type(gpp_calculator), intent(inout) :: calculator
    ! Matrix elements of G and of G', (ncouls, nbands) or more; of more rows the first are taken.
    complex(c_double_complex), intent(in), target, contiguous :: aqsntemp(:, :), aqsmtemp(:, :)
    ! Energy in eV and occupation, 0 to 1, of each band: (nbands).
    real(c_double), intent(in), target, contiguous :: e(:), occ(:)
    ! Energies of the sums in eV, (nw).
    real(c_double), intent(in), target, contiguous :: omega(:)
    ! The sums: (nw) or more, of which the first are written.
    complex(c_double_complex), intent(inout), target, contiguous :: asx(:), ach(:)
    integer(c_int32_t), intent(out) :: status
    ! sig%gamma in eV and sig%sexcut; 0.5 and 4 where they are not given.
    real(c_double), intent(in), optional :: gamma, sexcut
    ! Whether aqsmtemp is (ngpown, nbands): the rows of this rank's G' alone.
    logical, intent(in), optional :: aqsm_local
    ! Whether both matrices are on the GPU.
    logical, intent(in), optional :: on_device
    ! The static CH of the same bands, -1/2 sum of vcoul I_eps_array conj(aqsmtemp) aqsntemp: what acc_static_ch
    ! sums for exact_static_ch 1.
    complex(c_double_complex), intent(inout), target, optional :: static_ch

    calculator%unfit = 0
    call sum_at(calculator, c_null_ptr, calculator%placed, aqsntemp, aqsmtemp, e, occ, omega, status, gamma, &
      sexcut, aqsm_local, on_device, asx=asx, ach=ach, static_ch=static_ch)
  end subroutine gpp_sums_at

  ! Lets go of what gpp_place has placed.
  subroutine gpp_release(calculator, status)
    type(gpp_calculator), intent(inout) :: calculator
    integer(c_int32_t), intent(out) :: status
    calculator%unfit = 0
    calculator%placed = 0
    status = c_release(calculator%handle)
  end subroutine gpp_release

  ! Arrays on the GPU are made in this stream, of cudaStreamCreate or acc_get_cuda_stream; c_null_ptr is the
  ! default one. A call that reads them begins when all that the stream has under way is done.
  subroutine gpp_set_stream(calculator, stream, status)
    type(gpp_calculator), intent(inout) :: calculator
    type(c_ptr), intent(in) :: stream
    integer(c_int32_t), intent(out) :: status
    calculator%unfit = 0
    status = c_set_stream(calculator%handle, stream)
  end subroutine gpp_set_stream

  ! Bytes that a call takes at most beside the caller's arrays, on the host and on each GPU.
  subroutine gpp_workspace(calculator, ncouls, ngpown, nbands, nw, host, device, status, on_device)
    type(gpp_calculator), intent(inout) :: calculator
    integer, intent(in) :: ncouls, ngpown, nbands, nw
    integer(c_int64_t), intent(out) :: host, device
    integer(c_int32_t), intent(out) :: status
    logical, intent(in), optional :: on_device
    type(c_sizes) :: sizes
    sizes = c_sizes(ncouls, ngpown, nbands, nw, flag(on_device), flag(on_device))
    calculator%unfit = 0
    host = 0
    device = 0
    status = c_workspace(calculator%handle, sizes, host, device)
  end subroutine gpp_workspace

  ! Seconds that the kernels of the last sums or matrices took.
  function gpp_last_seconds(calculator) result(seconds)
    type(gpp_calculator), intent(in) :: calculator
    real(c_double) :: seconds
    seconds = c_last_seconds(calculator%handle)
  end function gpp_last_seconds

  function flag(given) result(is)
    logical, intent(in), optional :: given
    integer(c_int32_t) :: is
    is = 0
    if (present(given)) is = merge(1, 0, given)
  end function flag

  subroutine look_at(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, on_device, screening)
    type(gpp_calculator), intent(inout) :: calculator
    complex(c_double_complex), intent(in), target, contiguous :: wtilde_array(:, :), I_eps_array(:, :)
    real(c_double), intent(in), target, contiguous :: vcoul(:)
    integer(c_int32_t), intent(in), target, contiguous :: inv_igp_index(:), indinv(:)
    logical, intent(in), optional :: on_device
    type(c_screening), intent(out) :: screening
    integer :: ncouls, ngpown

    ncouls = size(wtilde_array, 1)
    ngpown = size(wtilde_array, 2)
    calculator%unfit = 0
    if (any(shape(I_eps_array) /= shape(wtilde_array))) calculator%unfit = 1
    if (size(vcoul) < ncouls) calculator%unfit = 2
    if (size(inv_igp_index) < ngpown) calculator%unfit = 3
    if (size(indinv) < 1) calculator%unfit = 10
    screening%ncouls = ncouls
    screening%ngpown = ngpown
    screening%ng = size(indinv)
    screening%wtilde = c_loc(wtilde_array)
    screening%ld_wtilde = ncouls
    screening%eps = c_loc(I_eps_array)
    screening%ld_eps = ncouls
    screening%vcoul = c_loc(vcoul)
    screening%inv_igp_index = c_loc(inv_igp_index)
    screening%indinv = c_loc(indinv)
    screening%on_device = flag(on_device)
  end subroutine look_at

  ! Sums, or with columns how far they may be off.
  subroutine sum_at(calculator, screening, extents, aqsntemp, aqsmtemp, e, occ, omega, status, gamma, sexcut, &
      aqsm_local, on_device, asx, ach, static_ch, columns, of_asx, of_ach)
    type(gpp_calculator), intent(inout) :: calculator
    type(c_ptr), intent(in) :: screening
    integer, intent(in) :: extents(2)
    complex(c_double_complex), intent(in), target, contiguous :: aqsntemp(:, :), aqsmtemp(:, :)
    real(c_double), intent(in), target, contiguous :: e(:), occ(:), omega(:)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut
    logical, intent(in), optional :: aqsm_local, on_device
    complex(c_double_complex), intent(inout), target, contiguous, optional :: asx(:), ach(:)
    complex(c_double_complex), intent(inout), target, optional :: static_ch
    integer, intent(in), optional :: columns
    real(c_double), intent(inout), target, contiguous, optional :: of_asx(:), of_ach(:)
    type(c_bands) :: bands
    type(c_ptr) :: to(2), to_static_ch
    type(c_formula) :: formula
    logical :: is_local
    integer :: nbands, nw, rows

    is_local = flag(aqsm_local) == 1
    formula = limits(gamma, sexcut)
    nbands = size(e)
    nw = size(omega)
    rows = merge(extents(2), extents(1), is_local)
    if (size(aqsntemp, 1) < extents(1) .or. size(aqsntemp, 2) < nbands) calculator%unfit = 4
    if (size(aqsmtemp, 1) < rows .or. size(aqsmtemp, 2) < nbands) calculator%unfit = merge(6, 5, is_local)
    if (size(occ) < nbands) calculator%unfit = 7
    if (present(columns)) then
      if (size(of_asx) < nw) calculator%unfit = 11
      if (size(of_ach) < nw) calculator%unfit = 12
      to = [c_loc(of_asx), c_loc(of_ach)]
    else
      if (size(asx) < nw) calculator%unfit = 8
      if (size(ach) < nw) calculator%unfit = 9
      to = [c_loc(asx), c_loc(ach)]
    end if
    if (calculator%unfit /= 0) then
      status = gpp_bad_argument
      return
    end if
    bands%nbands = nbands
    bands%aqsn = c_loc(aqsntemp)
    bands%ld_aqsn = size(aqsntemp, 1)
    bands%aqsm = c_loc(aqsmtemp)
    bands%ld_aqsm = size(aqsmtemp, 1)
    bands%aqsm_local = merge(1, 0, is_local)
    bands%e = c_loc(e)
    bands%occ = c_loc(occ)
    bands%on_device = flag(on_device)
    if (present(columns)) then
      status = c_bound(calculator%handle, screening, bands, int(nw, c_int64_t), c_loc(omega), formula, &
        int(columns, c_int64_t), to(1), to(2))
    else
      to_static_ch = c_null_ptr
      if (present(static_ch)) to_static_ch = c_loc(static_ch)
      status = c_sums(calculator%handle, screening, bands, int(nw, c_int64_t), c_loc(omega), formula, to(1), to(2), &
        to_static_ch)
    end if
  end subroutine sum_at

  subroutine matrix_of(calculator, screening, ncouls, a, e, occ, omega, sx, ch, status, gamma, sexcut, on_device, &
      at_bands)
    type(gpp_calculator), intent(inout) :: calculator
    type(c_ptr), intent(in) :: screening
    integer, intent(in) :: ncouls
    complex(c_double_complex), intent(in), target, contiguous :: a(:, :, :)
    real(c_double), intent(in), target, contiguous :: e(:), occ(:), omega(:)
    complex(c_double_complex), intent(inout), target, contiguous :: sx(:, :, :), ch(:, :, :)
    integer(c_int32_t), intent(out) :: status
    real(c_double), intent(in), optional :: gamma, sexcut
    logical, intent(in), optional :: on_device, at_bands
    type(c_matrix_bands) :: bands
    integer :: matrices

    matrices = size(omega)
    if (flag(at_bands) /= 0) matrices = 2
    if (size(a, 1) < ncouls .or. size(a, 2) /= size(e)) calculator%unfit = 13
    if (size(occ) < size(e)) calculator%unfit = 7
    if (.not. holds(ch)) calculator%unfit = 15
    if (.not. holds(sx)) calculator%unfit = 14
    status = gpp_bad_argument
    if (calculator%unfit /= 0) return
    bands = c_matrix_bands(size(a, 3), size(e), c_loc(a), size(a, 1), c_loc(e), c_loc(occ), flag(on_device), &
      flag(at_bands))
    status = c_matrix(calculator%handle, screening, bands, int(size(omega), c_int64_t), c_loc(omega), &
      limits(gamma, sexcut), c_loc(sx), c_loc(ch))

  contains

    function holds(sums) result(is)
      complex(c_double_complex), intent(in) :: sums(:, :, :)
      logical :: is
      is = size(sums, 1) == size(a, 3) .and. size(sums, 2) == size(a, 3) .and. size(sums, 3) >= matrices
    end function holds
  end subroutine matrix_of

  function limits(gamma, sexcut) result(formula)
    real(c_double), intent(in), optional :: gamma, sexcut
    type(c_formula) :: formula
    formula = c_formula(0.5_c_double, 4.0_c_double)
    if (present(gamma)) formula%gamma = gamma
    if (present(sexcut)) formula%sexcut = sexcut
  end function limits

  ! The library's version, as in '0.1.0'.
  function gpp_version() result(text)
    character(len=:), allocatable :: text
    text = from_c(c_version())
  end function gpp_version

  ! What the device is called.
  function gpp_device_name(calculator) result(text)
    type(gpp_calculator), intent(in) :: calculator
    character(len=:), allocatable :: text
    text = from_c(c_device_name(calculator%handle))
  end function gpp_device_name

  ! The version that gpp_sums or gpp_matrix ran last; empty where none ran.
  function gpp_last_version(calculator) result(text)
    type(gpp_calculator), intent(in) :: calculator
    character(len=:), allocatable :: text
    text = from_c(c_last_version(calculator%handle))
  end function gpp_last_version

  ! Why the last call that failed did so, gpp_open among them.
  function gpp_message(calculator) result(text)
    type(gpp_calculator), intent(in) :: calculator
    character(len=:), allocatable :: text
    if (calculator%unfit /= 0) then
      text = 'an array does not fit '//trim(shapes(calculator%unfit))
    else
      text = from_c(c_message(calculator%handle))
    end if
  end function gpp_message

  function from_c(at) result(text)
    type(c_ptr), intent(in) :: at
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: signs(:)
    integer :: i, length
    length = 0
    if (c_associated(at)) length = int(c_strlen(at))
    allocate (character(len=length) :: text)
    if (length == 0) return
    call c_f_pointer(at, signs, [length])
    do i = 1, length
      text(i:i) = signs(i)
    end do
  end function from_c
end module gpp
