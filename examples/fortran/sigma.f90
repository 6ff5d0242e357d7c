! The mini-app's loop, and the call that takes its place; then what a wrong argument gives.
!
!   gfortran capi/fortran/gpp.f90 examples/fortran/miniapp.f90 examples/fortran/sigma.f90 -lgpp_c
program sigma
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use gpp, only: gpp_bad_argument, gpp_calculator, gpp_close, gpp_device_name, gpp_last_version, gpp_matrix, &
    gpp_matrix_at, gpp_message, gpp_ok, gpp_open, gpp_place, gpp_release, gpp_set_threads, gpp_set_version, gpp_sums, &
    gpp_sums_at, gpp_threads, gpp_version
  use miniapp, only: dp, gamma, loop, make, ncouls, nw, sexcut
  implicit none
  complex(dp), allocatable, target :: wtilde_array(:, :), I_eps_array(:, :)
  complex(dp), allocatable :: aqsntemp(:, :), aqsmtemp(:, :)
  complex(dp), allocatable :: local(:, :), a(:, :, :), sx(:, :, :), ch(:, :, :), sx_own(:, :, :), ch_own(:, :, :)
  real(dp), allocatable :: vcoul(:), e(:), occ(:), omega(:)
  integer, allocatable :: inv_igp_index(:), indinv(:)
  complex(dp) :: asx(nw), ach(nw), asx_loop(nw), ach_loop(nw)
  complex(dp), allocatable :: static_ch(:), ach_of_bands(:)
  real(dp) :: sizes(nw)
  type(gpp_calculator) :: calculator
  character(len=16) :: device
  integer :: status, igp, row, state, l, m

  call get_command_argument(1, device)
  if (device == '') device = 'auto'
  call make(50, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega)
  call loop(wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega, &
    asx_loop, ach_loop, sizes)

  call gpp_open(calculator, 'nowhere', status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'nowhere') == 0) error stop 'gpp_open'
  call gpp_open(calculator, device, status)
  if (status /= gpp_ok) error stop 'no such device'
  call gpp_set_threads(calculator, -1, status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'found -1') == 0) error stop 'threads'
  call gpp_set_threads(calculator, 2, status)
  if (status /= gpp_ok .or. gpp_threads(calculator) /= 2) error stop 'gpp_set_threads'
  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, &
    e, occ, omega, asx, ach, status, gamma, sexcut)
  call compare('sums')

  ! The static CH of each band, and CH of each band at the last energy.
  allocate (static_ch(size(e)), ach_of_bands(size(e)))
  asx = 0
  ach = 0
  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, &
    e, occ, omega, asx, ach, status, gamma, sexcut, static_ch=static_ch, &
    ach_of_bands=ach_of_bands, iw=nw)
  call compare('sums with CH of each band')
  if (.not. all(is_near(static_ch, static_sums()))) error stop 'static CH'
  if (.not. is_near(sum(ach_of_bands), ach_loop(nw))) error stop 'CH of each band'

  ! The rows of G' alone.
  allocate (local(size(inv_igp_index), size(e)))
  local = 0
  do igp = 1, size(inv_igp_index)
    row = indinv(inv_igp_index(igp))
    if (row >= 1 .and. row <= ncouls) local(igp, :) = aqsmtemp(row, :)
  end do
  asx = 0
  ach = 0
  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, local, &
    e, occ, omega, asx, ach, status, aqsm_local=.true.)
  call compare('sums of rows of G'' alone')

  ! Modes and I_eps stay in place while states and bands change.
  call gpp_sums_at(calculator, aqsntemp, local, e, occ, omega, asx, ach, status, aqsm_local=.true.)
  if (status /= gpp_bad_argument) error stop 'nothing is placed'
  call gpp_place(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, status)
  if (status /= gpp_ok) error stop 'gpp_place'
  do state = 1, 3
    asx = 0
    ach = 0
    static_ch = 0
    call gpp_sums_at(calculator, aqsntemp, aqsmtemp, e, occ, omega, asx, ach, status, gamma, sexcut, &
      static_ch=static_ch)
    call compare('sums in place')
    if (.not. all(is_near(static_ch, static_sums()))) error stop 'static CH in place'
  end do

  ! All elements between two bands, with the elements that are above on either side of the diagonal sums.
  a = reshape([aqsntemp, aqsmtemp], [shape(aqsntemp), 2])
  allocate (sx(2, 2, nw), ch(2, 2, nw))
  do state = 1, 2
    if (state == 1) then
      call gpp_matrix_at(calculator, a, e, occ, omega, sx, ch, status, gamma, sexcut)
    else
      call gpp_matrix(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, a, e, occ, omega, &
        sx, ch, status, gamma, sexcut)
    end if
    do m = 1, 2
      do l = 1, 2
        call loop(wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, a(:, :, l), a(:, :, m), e, occ, &
          omega, asx_loop, ach_loop, sizes)
        asx = sx(l, m, :)
        ach = ch(l, m, :)
        call compare('a matrix')
      end do
    end do
  end do
  ! Two bands at energies of their own: rows at those of l, columns at those of m.
  allocate (sx_own(2, 2, 2), ch_own(2, 2, 2))
  call gpp_matrix_at(calculator, a, e, occ, [omega(nw), omega(1)], sx_own, ch_own, status, gamma, sexcut, &
    at_bands=.true.)
  if (status /= gpp_ok) error stop 'a matrix at its bands'' energies'
  do m = 1, 2
    do l = 1, 2
      if (.not. (is_near(sx_own(l, m, 1), sx(l, m, merge(nw, 1, l == 1))) .and. &
        is_near(ch_own(l, m, 1), ch(l, m, merge(nw, 1, l == 1))) .and. &
        is_near(sx_own(l, m, 2), sx(l, m, merge(nw, 1, m == 1))) .and. &
        is_near(ch_own(l, m, 2), ch(l, m, merge(nw, 1, m == 1))))) error stop 'elements at their bands'' energies'
    end do
  end do
  call gpp_matrix_at(calculator, a, e(2:), occ, omega, sx, ch, status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'a: has the shape 150, 24, 2; needed is 150, 23, 2') == 0) error stop 'a'
  call gpp_matrix_at(calculator, a(:, :, :1), e, occ, omega, sx, ch, status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'sx: has the shape 2, 2, 3; needed is 1, 1, 3') == 0) error stop 'sx'
  call gpp_release(calculator, status)
  if (status /= gpp_ok) error stop 'gpp_release'
  call gpp_matrix_at(calculator, a, e, occ, omega, sx, ch, status)
  if (status /= gpp_bad_argument) error stop 'nothing is placed for a matrix'

  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul(2:), inv_igp_index, indinv, aqsntemp, &
    aqsmtemp, e, occ, omega, asx, ach, status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'vcoul: has the shape 149; needed is 150') == 0) error stop 'vcoul'
  omega(2) = ieee_value(omega(2), ieee_quiet_nan)
  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, &
    e, occ, omega, asx, ach, status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'omega(2)') == 0) error stop 'omega'
  call gpp_set_version(calculator, 'v99', status)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'v99') == 0) error stop 'version'
  print '(8a)', 'gpp ', gpp_version(), ', ', gpp_last_version(calculator), ' on ', &
    gpp_device_name(calculator), ': as expected'
  call gpp_close(calculator, status)
  if (status /= gpp_ok) error stop 'gpp_close'

contains

  ! The static CH: no pole and no energy.
  function static_sums() result(sums)
    complex(dp) :: sums(size(e))
    integer :: n, column, g
    sums = 0
    do n = 1, size(e)
      do column = 1, size(inv_igp_index)
        g = indinv(inv_igp_index(column))
        if (g < 1 .or. g > ncouls) cycle
        sums(n) = sums(n) - 0.5_dp*vcoul(g)*conjg(aqsmtemp(g, n))*sum(I_eps_array(:, column)*aqsntemp(:, n))
      end do
    end do
  end function static_sums

  ! Whether elements agree to twelve digits.
  elemental logical function is_near(own, other)
    complex(dp), intent(in) :: own, other
    is_near = abs(own - other) <= 1e-12_dp*abs(other)
  end function is_near

  ! Sum for sum, relative to the sum of the terms' sizes.
  subroutine compare(what)
    character(len=*), intent(in) :: what
    if (status /= gpp_ok) then
      print '(3a)', what, ': ', gpp_message()
      error stop
    end if
    if (.not. all(abs(asx - asx_loop) + abs(ach - ach_loop) <= 1e-13_dp*sizes)) error stop 'other sums'
  end subroutine compare
end program sigma
