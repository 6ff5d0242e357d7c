! Arrays on a GPU from Fortran: the mini-app's sums with device addresses. OpenACC gives them in
! `!$acc host_data use_device(...)`; here the driver does, so that any compiler builds it.
!
!   gfortran capi/fortran/gpp.f90 examples/fortran/miniapp.f90 examples/fortran/device.f90 -lgpp_c -lcuda
program device
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_loc, c_ptr, c_size_t
  use gpp, only: gpp_bad_argument, gpp_calculator, gpp_close, gpp_matrix, gpp_matrix_at, gpp_message, gpp_ok, &
    gpp_open, gpp_place, gpp_sums, gpp_sums_at
  use miniapp, only: dp, gamma, loop, make, nw, sexcut
  implicit none

  interface
    function cu_init(flags) bind(c, name='cuInit') result(code)
      import :: c_int
      integer(c_int), value :: flags
      integer(c_int) :: code
    end function cu_init
    function cu_retain(context, index) bind(c, name='cuDevicePrimaryCtxRetain') result(code)
      import :: c_int, c_ptr
      type(c_ptr), intent(out) :: context
      integer(c_int), value :: index
      integer(c_int) :: code
    end function cu_retain
    function cu_current(context) bind(c, name='cuCtxSetCurrent') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value :: context
      integer(c_int) :: code
    end function cu_current
    function cu_alloc(at, bytes) bind(c, name='cuMemAlloc_v2') result(code)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), intent(out) :: at
      integer(c_size_t), value :: bytes
      integer(c_int) :: code
    end function cu_alloc
    function cu_upload(at, from, bytes) bind(c, name='cuMemcpyHtoD_v2') result(code)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: at, from
      integer(c_size_t), value :: bytes
      integer(c_int) :: code
    end function cu_upload
  end interface

  complex(dp), allocatable :: wtilde_array(:, :), I_eps_array(:, :), aqsntemp(:, :), aqsmtemp(:, :)
  complex(dp), pointer :: wtilde_gpu(:, :), eps_gpu(:, :), aqsn_gpu(:, :), aqsm_gpu(:, :)
  complex(dp), pointer, contiguous :: columns_gpu(:, :)
  complex(dp), pointer :: a_gpu(:, :, :)
  complex(dp) :: sx(2, 2, nw), ch(2, 2, nw)
  real(dp), allocatable :: vcoul(:), e(:), occ(:), omega(:)
  integer, allocatable :: inv_igp_index(:), indinv(:)
  complex(dp) :: asx(nw), ach(nw), asx_loop(nw), ach_loop(nw), asx_host(nw), ach_host(nw)
  real(dp) :: sizes(nw)
  type(gpp_calculator) :: calculator
  type(c_ptr) :: context
  integer :: status, state

  call make(50, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega)
  call loop(wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega, &
    asx_loop, ach_loop, sizes)
  call must(cu_init(0))
  call must(cu_retain(context, 0))
  call must(cu_current(context))
  wtilde_gpu => there(wtilde_array)
  eps_gpu => there(I_eps_array)
  aqsn_gpu => there(aqsntemp)
  aqsm_gpu => there(aqsmtemp)

  call gpp_open(calculator, 'gpu', status)
  if (status /= gpp_ok) error stop 'no GPU'
  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, &
    e, occ, omega, asx_host, ach_host, status, gamma, sexcut)
  if (status /= gpp_ok) error stop 'arrays of the host'
  call gpp_sums(calculator, wtilde_gpu, eps_gpu, vcoul, inv_igp_index, indinv, aqsn_gpu, aqsm_gpu, &
    e, occ, omega, asx, ach, status, gamma, sexcut, on_device=.true.)
  call compare('arrays of the GPU')
  call gpp_place(calculator, wtilde_gpu, eps_gpu, vcoul, inv_igp_index, indinv, status, on_device=.true.)
  if (status /= gpp_ok) error stop 'gpp_place'
  do state = 1, 3
    call gpp_sums_at(calculator, aqsn_gpu, aqsm_gpu, e, occ, omega, asx, ach, status, gamma, sexcut, &
      on_device=.true.)
    call compare('in place, bands of the GPU')
    call gpp_sums_at(calculator, aqsntemp, aqsmtemp, e, occ, omega, asx, ach, status, gamma, sexcut)
    call compare('in place, bands of the host')
  end do
  ! A matrix whose element (1, 2) is that of the sums.
  columns_gpu => there(reshape([aqsntemp, aqsmtemp], [size(aqsntemp, 1), 2*size(aqsntemp, 2)]))
  a_gpu(1:size(aqsntemp, 1), 1:size(aqsntemp, 2), 1:2) => columns_gpu
  do state = 1, 2
    if (state == 1) then
      call gpp_matrix_at(calculator, a_gpu, e, occ, omega, sx, ch, status, gamma, sexcut, on_device=.true.)
    else
      call gpp_matrix(calculator, wtilde_gpu, eps_gpu, vcoul, inv_igp_index, indinv, a_gpu, e, occ, omega, sx, &
        ch, status, gamma, sexcut, on_device=.true.)
    end if
    if (status /= gpp_ok) error stop 'a matrix'
    if (.not. all(abs(sx(1, 2, :) - asx_loop) + abs(ch(1, 2, :) - ach_loop) <= 1e-12_dp*sizes)) then
      error stop 'not the loop''s matrix'
    end if
  end do
  call gpp_sums(calculator, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, &
    e, occ, omega, asx, ach, status, on_device=.true.)
  if (status /= gpp_bad_argument .or. index(gpp_message(), 'wtilde') == 0) error stop 'not refused'
  call gpp_close(calculator, status)
  if (status /= gpp_ok) error stop 'gpp_close'
  print '(a)', 'device.f90: all as expected'

contains

  function there(array) result(on_gpu)
    complex(dp), intent(in), target, contiguous :: array(:, :)
    complex(dp), pointer, contiguous :: on_gpu(:, :)
    type(c_ptr) :: at
    integer(c_size_t) :: bytes
    bytes = 16_c_size_t*size(array)
    call must(cu_alloc(at, bytes))
    call must(cu_upload(at, c_loc(array), bytes))
    call c_f_pointer(at, on_gpu, shape(array))
  end function there

  subroutine must(code)
    integer(c_int), intent(in) :: code
    if (code /= 0) error stop 'the driver refused'
  end subroutine must

  ! The loop's sums but for rounding, and the bits of the host's arrays.
  subroutine compare(what)
    character(len=*), intent(in) :: what
    if (status /= gpp_ok) then
      print '(3a)', what, ': ', gpp_message()
      error stop 'a call failed'
    end if
    if (any(asx /= asx_host) .or. any(ach /= ach_host)) error stop 'other bits than those of the host''s arrays'
    if (.not. all(abs(asx - asx_loop) <= 1e-12_dp*sizes)) error stop 'not the loop''s asx'
    if (.not. all(abs(ach - ach_loop) <= 1e-12_dp*sizes)) error stop 'not the loop''s ach'
  end subroutine compare
end program device
