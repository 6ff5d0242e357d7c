! How arrays come to gpp, by any compiler: all kinds of variables are read where they are, sections with gaps are
! refused by name, and what is placed stays in place. Then progress and a stop.
module kinds
  use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_int32_t, c_ptr
  use miniapp, only: dp
  implicit none

  type :: holder
    complex(dp), pointer :: w(:, :) => null(), eps(:, :) => null(), aqsn(:, :) => null(), a(:, :, :) => null()
  end type holder

  type :: owner
    complex(dp), allocatable :: w(:, :), eps(:, :), aqsn(:, :), a(:, :, :)
  end type owner

  ! What a calculation has told, and when it is to stop.
  type, bind(c) :: listener
    integer(c_int32_t) :: calls = 0
    real(c_double) :: last = -1, most = 2
  end type listener

contains

  function told(part, context) bind(c) result(stops)
    real(c_double), value :: part
    type(c_ptr), value :: context
    integer(c_int32_t) :: stops
    type(listener), pointer :: of
    call c_f_pointer(context, of)
    if (.not. (part >= 0 .and. part <= 1)) error stop 'a part that is none'
    of%calls = of%calls + 1
    of%last = part
    stops = merge(7, 0, part >= of%most)
  end function told
end module kinds

program arrays
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_float_complex, c_intptr_t, c_loc, c_null_ptr
  use gpp
  use kinds
  use miniapp, only: make, ncouls, nbands, nw
  implicit none
  integer, parameter :: ng = 50, many = 2000
  complex(dp), allocatable, target :: w(:, :), eps(:, :), aqsn(:, :), aqsm(:, :), a(:, :, :)
  ! Twice as many of the first index, so that every other one is a section with gaps.
  complex(dp), allocatable, target :: wide(:, :), wide_bands(:, :), wide_a(:, :, :), wide_sums(:), wide_matrix(:, :, :)
  real(dp), allocatable :: vcoul(:), e(:), occ(:), omega(:), wide_numbers(:)
  integer, allocatable :: inv_igp_index(:), indinv(:), wide_indices(:)
  complex(dp), pointer :: pw(:, :), peps(:, :), paqsn(:, :), pa(:, :, :)
  complex(dp), target :: asx(nw), ach(nw), sx(2, 2, nw), ch(2, 2, nw)
  complex(dp) :: rate(nw), slope(nw), asx_right(nw), ach_right(nw), sx_right(2, 2, nw), ch_right(2, 2, nw)
  type(holder) :: held
  type(owner), target :: own
  type(listener), target :: of
  type(gpp_calculator) :: c
  integer :: status, before, columns

  call make(ng, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsm, e, occ, omega)
  ! Of columns without a row the library would make a copy.
  inv_igp_index = min(inv_igp_index, ncouls)
  a = reshape([aqsn, aqsm], [ncouls, nbands, 2])
  call gpp_open(c, 'cpu', status)
  if (status /= gpp_ok) error stop 'gpp_open'

  ! Allocatable arrays, whose sums the others have to have.
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status)
  if (status /= gpp_ok .or. .not. all(abs(asx) + abs(ach) > 0)) error stop 'allocatable arrays'
  call gpp_matrix(c, w, eps, vcoul, inv_igp_index, indinv, a, e, occ, omega, sx, ch, status)
  if (status /= gpp_ok .or. .not. all(abs(sx) + abs(ch) > 0)) error stop 'a matrix of allocatable arrays'
  asx_right = asx
  ach_right = ach
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status, &
    sigma_alone=.true.)
  if (status /= gpp_ok .or. any(abs(asx) > 0) .or. any(abs(ach - asx_right - ach_right) > 1e-12 * abs(ach))) &
    error stop 'sigma alone'
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, rate, status, derivative=ach)
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega - 1e-5_dp, asx, rate, status, &
    sigma_alone=.true.)
  slope = -rate
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega + 1e-5_dp, asx, rate, status, &
    sigma_alone=.true.)
  slope = (slope + rate) / 2e-5_dp
  if (status /= gpp_ok .or. .not. all(abs(slope - ach) <= 1e-6_dp * abs(rate))) error stop 'the derivative'
  call gpp_set_precision(c, gpp_single, status, tolerance=1e-6_dp)
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status)
  if (status /= gpp_bad_argument) error stop 'single precision of both parts'
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status, &
    sigma_alone=.true.)
  if (status /= gpp_ok .or. .not. all(abs(ach - asx_right - ach_right) <= gpp_last_error_bound(c)) .or. &
    .not. gpp_last_error_bound(c) < 1e-4 * maxval(abs(ach))) error stop 'single precision'
  if (.not. (gpp_last_error_found(c) > 0 .and. gpp_last_error_found(c) <= gpp_last_error_bound(c))) &
    error stop 'the error of a sample'
  call gpp_set_precision(c, 3, status)
  if (status /= gpp_bad_argument) error stop 'another precision'
  call gpp_set_precision(c, gpp_double, status)
  asx = asx_right
  ach = ach_right
  sx_right = sx
  ch_right = ch
  call gpp_matrix(c, w, eps, vcoul, inv_igp_index, indinv, a, e, occ, omega, sx, ch, status, sigma_alone=.true.)
  if (status /= gpp_ok .or. any(abs(sx) > 0) .or. any(abs(ch - sx_right - ch_right) > 1e-12 * maxval(abs(ch_right)))) &
    error stop 'a matrix of sigma alone'
  sx = sx_right
  ch = ch_right
  call gpp_place(c, w, eps, vcoul, inv_igp_index, indinv, status)
  call of_placed('allocatable')

  pw => w
  peps => eps
  paqsn => aqsn
  pa => a
  call gpp_sums(c, pw, peps, vcoul, inv_igp_index, indinv, paqsn, paqsn, e, occ, omega, asx, ach, status)
  call gpp_matrix(c, pw, peps, vcoul, inv_igp_index, indinv, pa, e, occ, omega, sx, ch, status)
  call same('pointers')
  call gpp_place(c, pw, peps, vcoul, inv_igp_index, indinv, status)
  call of_placed('pointers')

  held = holder(w, eps, aqsn, a)
  call gpp_sums(c, held%w, held%eps, vcoul, inv_igp_index, indinv, held%aqsn, held%aqsn, e, occ, omega, asx, ach, &
    status)
  call gpp_matrix(c, held%w, held%eps, vcoul, inv_igp_index, indinv, held%a, e, occ, omega, sx, ch, status)
  call same('components that are pointers')
  call gpp_place(c, held%w, held%eps, vcoul, inv_igp_index, indinv, status)
  call of_placed('components that are pointers')

  own = owner(w, eps, aqsn, a)
  call gpp_sums(c, own%w, own%eps, vcoul, inv_igp_index, indinv, own%aqsn, own%aqsn, e, occ, omega, asx, ach, &
    status)
  call gpp_matrix(c, own%w, own%eps, vcoul, inv_igp_index, indinv, own%a, e, occ, omega, sx, ch, status)
  call same('components')
  call gpp_place(c, own%w, own%eps, vcoul, inv_igp_index, indinv, status)
  call of_placed('components')

  call assumed(w, eps, aqsn, a, vcoul, inv_igp_index, indinv, e, occ, omega, asx, ach, sx, ch)

  ! Columns of a wider array, in a column of one too.
  allocate (wide(2*ncouls, ng), wide_bands(2*ncouls, nbands), wide_a(2*ncouls, nbands, 2), wide_sums(2*nw))
  allocate (wide_matrix(4, 2, nw), wide_numbers(2*max(ncouls, nbands)), wide_indices(2*max(ncouls, size(indinv))))
  wide = 0
  wide_bands = 0
  wide_a = 0
  wide_sums = 0
  wide_matrix = 0
  wide_numbers = 0
  wide_indices = 1
  pw => w(:, 11:ng)
  peps => eps(:, 11:ng)
  call gpp_sums(c, w(:, 1:10), eps(:, 1:10), vcoul, inv_igp_index(1:10), indinv, aqsn, aqsn, e, occ, omega, asx, ach, &
    status)
  if (status /= gpp_ok) error stop 'the first columns'
  call gpp_sums(c, pw, peps, vcoul, inv_igp_index(11:ng), indinv, aqsn, aqsn, e, occ, omega, wide_sums(1:nw), &
    wide_sums(nw + 1:), status)
  if (status /= gpp_ok) error stop 'the other columns'
  if (.not. all(abs(asx + wide_sums(1:nw) - asx_right) <= 1e-12_dp*abs(asx_right))) error stop 'columns'
  wide_bands(1:ncouls, 3) = aqsn(:, 3)
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn(:, 3:3), aqsn(:, 3:3), e(3:3), occ(3:3), omega, asx, &
    ach, status)
  wide_sums(1:nw) = asx
  columns = 3
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, wide_bands(1:ncouls, 3:columns), aqsn(:, 3:3), e(3:3), &
    occ(3:3:2), omega, asx, ach, status)
  if (status /= gpp_ok .or. any(asx /= wide_sums(1:nw))) error stop 'a band of a wider array'

  ! Sections with gaps. What was placed before stays.
  call gpp_place(c, w, eps, vcoul, inv_igp_index, indinv, status)
  call gpp_place(c, wide(::2, :), eps, vcoul, inv_igp_index, indinv, status)
  call refused('wtilde')
  pw => wide(:ncouls, :)
  call gpp_place(c, pw, eps, vcoul, inv_igp_index, indinv, status)
  call refused('wtilde')
  call gpp_place(c, w, wide(1::2, :), vcoul, inv_igp_index, indinv, status)
  call refused('eps')
  call gpp_place(c, w(:, ng:1:-1), eps, vcoul, inv_igp_index, indinv, status)
  call refused('wtilde')
  call gpp_place(c, w, eps, wide_numbers(::2), inv_igp_index, indinv, status)
  call refused('vcoul')
  call gpp_place(c, w, eps, vcoul, wide_indices(::2), indinv, status)
  call refused('inv_igp_index')
  call gpp_place(c, w, eps, vcoul, inv_igp_index, wide_indices(::2), status)
  call refused('indinv')
  nullify (pw)
  call gpp_place(c, pw, eps, vcoul, inv_igp_index, indinv, status)
  call failed(gpp_bad_argument, 'wtilde or eps is not associated')
  call of_placed('what was placed before')
  call gpp_sums(c, wide(::2, :), eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status)
  call refused('wtilde')
  call gpp_sums(c, w, wide(:ncouls, :), vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status)
  call refused('eps')
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, wide_bands(::2, :), aqsn, e, occ, omega, asx, ach, status)
  call refused('aqsn')
  call gpp_matrix(c, w, eps, wide_numbers(::2), inv_igp_index, indinv, a, e, occ, omega, sx, ch, status)
  call refused('vcoul')
  call gpp_matrix(c, w, eps, vcoul, inv_igp_index, indinv, wide_a(::2, :, :), e, occ, omega, sx, ch, status)
  call refused('a')
  call gpp_sums_at(c, wide_bands(::2, :), aqsn, e, occ, omega, asx, ach, status)
  call refused('aqsn')
  call gpp_sums_at(c, aqsn, wide_bands(:ncouls, :), e, occ, omega, asx, ach, status)
  call refused('aqsm')
  call gpp_sums_at(c, aqsn, aqsn, wide_numbers(:2*nbands:2), occ, omega, asx, ach, status)
  call refused('e')
  call gpp_sums_at(c, aqsn, aqsn, e, occ(nbands:1:-1), omega, asx, ach, status)
  call refused('occ')
  call gpp_sums_at(c, aqsn, aqsn, e, occ, wide_numbers(:2*nw:2), asx, ach, status)
  call refused('omega')
  call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, wide_sums(::2), ach, status)
  call refused('asx')
  call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, asx, wide_sums(::2), status)
  call refused('ach')
  call gpp_matrix_at(c, wide_a(:ncouls, :, :), e, occ, omega, sx, ch, status)
  call refused('a')
  call gpp_matrix_at(c, a, e, wide_numbers(::2), omega, sx, ch, status)
  call refused('occ')
  call gpp_matrix_at(c, a, e, occ, omega, wide_matrix(::2, :, :), ch, status)
  call refused('sx')
  call gpp_matrix_at(c, a, e, occ, omega, sx, wide_matrix(3:4, :, :), status)
  call refused('ch')
  ! Too few rows, and none.
  call gpp_sums_at(c, aqsn(:0, :), aqsn, e, occ, omega, asx, ach, status)
  call failed(gpp_bad_argument, 'aqsn must have at least 150')
  call gpp_sums_at(c, aqsn, aqsn(:, :0), e, occ, omega, asx, ach, status)
  call failed(gpp_bad_argument, 'aqsm: has the shape 150, 0; needed is 150, 24')
  call of_placed('after errors')

  ! Nobody reads memory of a GPU here: at these addresses is nothing.
  call c_f_pointer(transfer(4096_c_intptr_t, c_null_ptr), pw, [ncouls, ng])
  call c_f_pointer(transfer(8192_c_intptr_t, c_null_ptr), pa, [ncouls, nbands, 2])
  call gpp_sums(c, pw, pw, vcoul, inv_igp_index, indinv, pw, pw, e, occ, omega, asx, ach, status, on_device=.true.)
  call failed(gpp_bad_argument, '')
  call gpp_place(c, pw, pw, vcoul, inv_igp_index, indinv, status, on_device=.true.)
  call failed(gpp_bad_argument, '')
  call gpp_matrix_at(c, pa, e, occ, omega, sx, ch, status, on_device=.true.)
  call failed(gpp_bad_argument, '')
  call of_placed('after addresses of a GPU')

  ! The time-ordered formula: of eta alone, and BerkeleyGW's without one.
  call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, asx, ach, status, 7.0_dp, 0.0_dp, eta=0.1_dp)
  call gpp_matrix_at(c, a, e, occ, omega, sx, ch, status, 7.0_dp, 0.0_dp, eta=0.1_dp)
  if (status /= gpp_ok .or. any(asx == asx_right)) error stop 'eta'
  if (any(abs(sx(1, 1, :) + ch(1, 1, :) - asx - ach) > 1e-12_dp*(abs(asx) + abs(ach)))) error stop 'eta of the matrix'
  call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, asx, ach, status, eta=-0.1_dp)
  call failed(gpp_bad_argument, "the caller's arrays: eta is -0.1")
  call gpp_sums(c, cmplx(real(w), 0, dp), eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, &
    status, window=9.0_dp)
  if (status /= gpp_ok .or. any(asx /= 0)) error stop 'window'
  call gpp_matrix(c, cmplx(real(w), 0, dp), eps, vcoul, inv_igp_index, indinv, a, e, occ, omega, sx, ch, status, &
    window=9.0_dp)
  if (any(abs(sx(1, 1, :) + ch(1, 1, :) - ach) > 1e-12_dp*(abs(sx(1, 1, :)) + abs(ch(1, 1, :))))) &
    error stop 'window of the matrix'
  call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, asx, ach, status, window=-0.1_dp)
  call failed(gpp_bad_argument, "the caller's arrays: window is -0.1")
  call of_placed('after another formula')

  call of_states()

  ! Progress and a stop.
  call gpp_set_progress(c, status, told, c_loc(of))
  if (status /= gpp_ok) error stop 'gpp_set_progress'
  call of_placed('while told')
  if (of%calls < 1 .or. of%last /= 1) error stop 'not told'
  of = listener(most=0)
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status)
  call failed(gpp_stopped, 'stopped')
  of = listener(most=0)
  call gpp_matrix_at(c, a, e, occ, omega, sx, ch, status)
  call failed(gpp_stopped, 'stopped')
  of = listener()
  call gpp_set_progress(c, status)
  call of_placed('after a stop')
  if (of%calls /= 0) error stop 'told yet'
  call gpp_release(c, status)

  ! Memory: arrays that are large beside all that a call has of its own.
  deallocate (w, eps, aqsn)
  allocate (w(many, many), eps(many, many), aqsn(many, 1))
  w = 10
  eps = 0.1_dp
  aqsn = 1
  pw => w
  peps => eps
  vcoul = [(1.0_dp, columns=1, many)]
  inv_igp_index = [(columns, columns=1, many)]
  indinv = inv_igp_index
  call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e(1:1), occ(1:1), omega, asx, ach, status)
  before = most_memory()
  call gpp_sums(c, pw, peps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e(1:1), occ(1:1), omega, asx, ach, status)
  if (status /= gpp_ok) error stop 'sums of large arrays'
  ! Half of one of both matrices, in kB.
  if (.not. most_memory() - before < many*many*16/2000) error stop 'large arrays were copied'
  call gpp_close(c)
  print '(a)', 'arrays.f90: all as expected'

contains

  ! All of them are dummy arguments of assumed shape.
  subroutine assumed(w, eps, aqsn, a, vcoul, inv_igp_index, indinv, e, occ, omega, asx, ach, sx, ch)
    complex(dp), intent(in), target :: w(:, :), eps(:, :), aqsn(:, :), a(:, :, :)
    real(dp), intent(in) :: vcoul(:), e(:), occ(:), omega(:)
    integer, intent(in) :: inv_igp_index(:), indinv(:)
    complex(dp), intent(inout) :: asx(:), ach(:), sx(:, :, :), ch(:, :, :)
    call gpp_sums(c, w, eps, vcoul, inv_igp_index, indinv, aqsn, aqsn, e, occ, omega, asx, ach, status)
    call gpp_matrix(c, w, eps, vcoul, inv_igp_index, indinv, a, e, occ, omega, sx, ch, status)
    call same('dummy arguments')
    call gpp_place(c, w, eps, vcoul, inv_igp_index, indinv, status)
    call of_placed('dummy arguments')
    asx = 0
    sx = 0
    call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, asx, ach, status)
    call gpp_matrix_at(c, a, e, occ, omega, sx, ch, status)
    call same('dummy arguments in place')
  end subroutine assumed

  ! The sums of what is placed, once memory that was free is written.
  subroutine of_placed(what)
    character(len=*), intent(in) :: what
    type(owner) :: others(16)
    integer :: i
    if (status /= gpp_ok) error stop 'gpp_place'
    do i = 1, size(others)
      allocate (others(i)%w(ncouls, ng))
      others(i)%w = (7.0_dp, 7.0_dp)
    end do
    asx = 0
    ach = 0
    sx = 0
    ch = 0
    call gpp_sums_at(c, aqsn, aqsn, e, occ, omega, asx, ach, status)
    if (status /= gpp_ok) error stop 'gpp_sums_at'
    call gpp_matrix_at(c, a, e, occ, omega, sx, ch, status)
    call same(what)
  end subroutine of_placed

  ! Many states in one call, their elements in a larger array, with the bits of one after the other.
  subroutine of_states()
    complex(dp), allocatable :: elements(:, :, :), same_in_double(:, :)
    complex(c_float_complex), allocatable :: floats(:, :, :)
    complex(dp) :: asx_of(nw, 3), ach_of(nw, 3), rates(nw, 3)
    real(dp) :: omega_of(nw, 3)
    integer :: i
    allocate (elements(ncouls + 3, nbands, 4))
    elements = huge(1.0_dp)
    do i = 1, 3
      elements(:ncouls, :, i) = aqsn*i
      omega_of(:, i) = omega + 0.25_dp*i
    end do
    elements(:ncouls, :, 4) = aqsn
    call gpp_sums_of_states(c, elements(:ncouls, :, :3), elements(:ncouls, :, 2:), e, occ, omega_of, asx_of, ach_of, status)
    if (status /= gpp_ok) call failed(gpp_ok, '')
    do i = 1, 3
      call gpp_sums_at(c, aqsn*i, elements(:ncouls, :, i + 1), e, occ, omega_of(:, i), asx, ach, status)
      call failed(gpp_bad_argument, 'aqsm: its elements do not follow')
      call gpp_sums_at(c, aqsn*i, aqsn*merge(1, i + 1, i == 3), e, occ, omega_of(:, i), asx, ach, status)
      if (status /= gpp_ok .or. any(asx /= asx_of(:, i)) .or. any(ach /= ach_of(:, i))) error stop 'states'
    end do
    call gpp_sums_of_states(c, elements(:ncouls, :, :), elements(:ncouls, :, :), e, occ, omega_of, asx_of, ach_of, &
      status, sigma_alone=.true.)
    if (status /= gpp_ok .or. any(asx_of /= 0) .or. any(ach_of == 0)) error stop 'sigma alone of states'
    call gpp_sums_of_states(c, elements(:ncouls, :, :), elements(:ncouls, :, :), e, occ, omega_of, asx_of, ach_of, &
      status, derivative=rates)
    if (status /= gpp_ok .or. any(asx_of /= 0)) error stop 'derivative of states'
    do i = 1, 3
      call gpp_sums_at(c, aqsn*i, aqsn*i, e, occ, omega_of(:, i), asx, ach, status, derivative=rate)
      if (status /= gpp_ok .or. any(rate /= rates(:, i)) .or. any(ach /= ach_of(:, i))) error stop 'derivative of a state'
    end do

    ! Matrix elements in single precision: the sums of the same numbers in double.
    floats = cmplx(elements(:, :, :2), kind=c_float_complex)
    call gpp_sums_of_states(c, floats(:ncouls, :, :), floats(:ncouls, :, :), e, occ, omega_of(:, :2), asx_of, ach_of, status)
    if (status /= gpp_ok) call failed(gpp_ok, '')
    call gpp_sums_at(c, floats(:ncouls, :, 1), floats(:ncouls, :, 1), e, occ, omega, asx, ach, status)
    call refused('aqsm')
    same_in_double = floats(:ncouls, :, 2)
    call gpp_sums_at(c, same_in_double, same_in_double, e, occ, omega_of(:, 2), asx, ach, status)
    if (status /= gpp_ok .or. any(asx /= asx_of(:, 2)) .or. any(ach /= ach_of(:, 2))) error stop 'single of states'
    call gpp_sums_at(c, cmplx(same_in_double, kind=c_float_complex), cmplx(same_in_double, kind=c_float_complex), e, occ, &
      omega_of(:, 2), asx, ach, status)
    if (status /= gpp_ok .or. any(asx /= asx_of(:, 2)) .or. any(ach /= ach_of(:, 2))) error stop 'single'
    call gpp_sums_at(c, cmplx(same_in_double, kind=c_float_complex), same_in_double, e, occ, omega, asx, ach, status)
    call failed(gpp_bad_argument, 'aqsn and aqsm are of different kinds')
    call gpp_sums_at(c, real(same_in_double), same_in_double, e, occ, omega, asx, ach, status)
    call failed(gpp_bad_argument, 'aqsn is neither c_double_complex nor c_float_complex')
    call gpp_sums_of_states(c, elements(::2, :, :), elements(:ncouls, :, :), e, occ, omega_of, asx_of, ach_of, status)
    call refused('aqsn')
    call gpp_sums_of_states(c, elements(:ncouls, :, :2), elements(:ncouls, :, :), e, occ, omega_of, asx_of, ach_of, status)
    call failed(gpp_bad_argument, 'aqsn or aqsm has fewer states')
    elements(2, 1, 3) = huge(1.0_dp)
    call gpp_sums_of_states(c, elements(:ncouls, :, :), elements(:ncouls, :, :), e, occ, omega_of, asx_of, ach_of, status)
    call failed(gpp_bad_argument, "state 3: the caller's arrays: aqsn(ig,n) is 1.79")
  end subroutine of_states

  subroutine same(what)
    character(len=*), intent(in) :: what
    if (status /= gpp_ok) then
      print '(3a)', what, ': ', gpp_message()
      error stop 1
    end if
    if (all(asx == asx_right) .and. all(ach == ach_right) .and. all(sx == sx_right) .and. all(ch == ch_right)) return
    print '(2a)', what, ': other sums'
    error stop 1
  end subroutine same

  subroutine refused(name)
    character(len=*), intent(in) :: name
    call failed(gpp_bad_argument, name//': its elements do not follow each other in memory')
  end subroutine refused

  ! A call has ended with this status and a message that begins so.
  subroutine failed(as, message)
    integer, intent(in) :: as
    character(len=*), intent(in) :: message
    if (status /= as .or. index(gpp_message(), message) /= 1) then
      print '(a, i0, 4a)', 'status ', status, ', ', gpp_message(), ', and not ', message
      error stop 1
    end if
    status = gpp_ok
  end subroutine failed

  ! The most memory that this process has had, in kB.
  integer function most_memory()
    character(len=80) :: line
    integer :: unit, ended
    open (newunit=unit, file='/proc/self/status', action='read')
    do
      read (unit, '(a)', iostat=ended) line
      if (ended /= 0) error stop '/proc/self/status'
      if (line(1:6) == 'VmHWM:') exit
    end do
    close (unit)
    read (line(7:index(line, 'kB') - 1), *) most_memory
  end function most_memory
end program arrays
