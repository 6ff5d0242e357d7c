! How the Rust side calls a module `loops`: place, then sum as often as wanted, then release.
subroutine gpp_place(a) bind(c)
  use problem, only: arrays, view, of
  use loops, only: place
  implicit none
  type(arrays), intent(in) :: a
  type(view) :: v
  v = of(a)
  call place(a%nbands, a%ngpown, a%ncouls, a%nw, v%wtilde, v%eps, v%aqsn, v%aqsm_local, v%wx)
end subroutine gpp_place

! sums(:, iw) are asx and ach of an energy.
subroutine gpp_sum(a, threads, sums) bind(c)
  use omp_lib, only: omp_set_num_threads
  use problem, only: arrays, c_int, dp, of, view
  use loops, only: calculate
  implicit none
  type(arrays), intent(in) :: a
  integer(c_int), value :: threads
  complex(dp), intent(out) :: sums(2, a%nw)
  complex(dp) :: asx(a%nw), ach(a%nw)
  type(view) :: v
  v = of(a)
  call omp_set_num_threads(threads)
  call calculate(a%nbands, a%ngpown, a%ncouls, a%nw, a%limittwo, a%limitone, a%sexcut, v%wtilde, &
    v%eps, v%aqsn, v%aqsm_local, v%wx, v%vcoul_loc, v%occ, asx, ach)
  sums(1, :) = asx
  sums(2, :) = ach
end subroutine gpp_sum

subroutine gpp_release() bind(c)
  use loops, only: release
  implicit none
  call release()
end subroutine gpp_release
