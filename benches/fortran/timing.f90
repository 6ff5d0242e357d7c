! Times a module `loops` on a problem of `gpp generate`: timing FILE. Prints the median of nine runs, after two seconds of
! others, and the largest error relative to the sums in the file.
program timing
  use, intrinsic :: iso_fortran_env, only: int64
  use problem, only: dp
  use loops, only: place, calculate
  implicit none
  integer, parameter :: runs = 9
  integer :: sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max, nbands, ipe, ispin, ngpown, ncouls
  integer :: nstart, nend, sig_fdf, nvband, igp, iw, n, row, run
  real(dp) :: sig_dw, sig_gamma, e_lk, tol, efermi, sexcut, limittwo, limitone, e, times(runs), error
  integer, allocatable :: indext(:), inv_igp_index(:), indinv(:)
  real(dp), allocatable :: ekq(:), vcoul(:), wx(:, :), vcoul_loc(:), occ(:)
  complex(dp), allocatable :: aqsmtemp(:, :), wtilde(:, :), eps(:, :), aqsn(:, :), aqsm_local(:, :)
  complex(dp), allocatable :: asx(:), ach(:), sums(:, :)
  integer(int64) :: begin, since, now, rate
  character(4096) :: name

  call get_command_argument(1, name)
  open (10, file=name, form='unformatted', status='old', action='read')
  read (10) sig_ntband, gvec_ng, ncoul, ngpown_max, ntband_max
  read (10) nbands, ipe, ispin, ngpown, ncouls
  allocate (indext(ntband_max), ekq(sig_ntband), inv_igp_index(ngpown_max), indinv(gvec_ng), vcoul(ncoul))
  allocate (aqsmtemp(ncouls, ntband_max), aqsn(ncouls, ntband_max), wtilde(ncouls, ngpown), eps(ncouls, ngpown))
  read (10) indext
  read (10) ekq
  read (10) nstart, nend, sig_fdf, sig_dw, sig_gamma, e_lk
  read (10) inv_igp_index
  read (10) gvec_ng, indinv
  read (10) aqsmtemp
  read (10) nvband, tol, efermi
  read (10) vcoul
  read (10) sexcut, limittwo, limitone
  read (10) wtilde
  read (10) eps
  read (10) aqsn
  ! asxtemp and achtemp, which are zero, then the sums.
  allocate (sums(max(nend, 3), 4), asx(nend - nstart + 1), ach(nend - nstart + 1))
  do n = 1, 4
    read (10) sums(:, n)
  end do
  close (10)

  allocate (wx(size(asx), nbands), vcoul_loc(ngpown), occ(nbands), aqsm_local(ngpown, nbands))
  do n = 1, nbands
    e = ekq(indext(n))
    wx(:, n) = [(e_lk + sig_dw*(iw - 2) - e, iw=nstart, nend)]
    occ(n) = merge(0.0_dp, merge(0.5_dp, 1.0_dp, abs(e - efermi) < tol), indext(n) > nvband)
  end do
  where (abs(wx) < 1e-12_dp) wx = 1e-12_dp
  vcoul_loc = 0
  aqsm_local = 0
  do igp = 1, ngpown
    row = indinv(inv_igp_index(igp))
    if (row < 1 .or. row > ncouls) cycle
    vcoul_loc(igp) = vcoul(row)
    aqsm_local(igp, :) = aqsmtemp(row, :nbands)
  end do

  call place(nbands, ngpown, ncouls, size(asx), wtilde, eps, aqsn(:, :nbands), aqsm_local, wx)
  call system_clock(begin, rate)
  run = 0
  do while (run < runs)
    call system_clock(since)
    call calculate(nbands, ngpown, ncouls, size(asx), limittwo, limitone, sexcut, wtilde, eps, aqsn(:, :nbands), &
      aqsm_local, wx, vcoul_loc, occ, asx, ach)
    call system_clock(now)
    if (since - begin < 2*rate) cycle
    run = run + 1
    times(run) = real(now - since, dp)/real(rate, dp)
  end do
  do run = 1, runs
    if (count(times < times(run)) <= runs/2 .and. count(times <= times(run)) > runs/2) exit
  end do
  error = max(maxval(abs(asx - sums(nstart:nend, 3))/abs(sums(nstart:nend, 3))), &
    maxval(abs(ach - sums(nstart:nend, 4))/abs(sums(nstart:nend, 4))))
  print '(f12.4, a, es9.1)', 1e3_dp*times(run), ' ms, error', error
end program timing
