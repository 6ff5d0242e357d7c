! As the talk ends: indices swapped, blocks of ig and bands, no branch, a real reciprocal for each
! division. For a processor: real and imaginary parts apart, ig in vectors, and blocks of igp, for
! which a block of bands stays in the second-level cache.
module loops
  use problem, only: dp, tol_zero
  implicit none
  private
  public :: place, calculate

  ! A block of modes is 16 KB, one of bands 128 KB.
  integer, parameter :: igp_blk = 16, n_blk = 16, ig_blk = 512
  ! (ncouls, ngpown)
  real(dp), allocatable, dimension(:, :) :: wtilde_re, wtilde_im, eps_re, eps_im
  ! (ncouls, nbands)
  real(dp), allocatable, dimension(:, :) :: aqsn_re, aqsn_im
  complex(dp), allocatable :: aqsm(:, :)     ! (nbands, ngpown)
  real(dp), allocatable :: energies(:, :)    ! (nbands, nw)

contains

  subroutine place(nbands, ngpown, ncouls, nw, wtilde, eps, aqsn, aqsm_local, wx)
    integer, intent(in) :: nbands, ngpown, ncouls, nw
    complex(dp), intent(in) :: wtilde(ncouls, ngpown), eps(ncouls, ngpown)
    complex(dp), intent(in) :: aqsn(ncouls, nbands), aqsm_local(ngpown, nbands)
    real(dp), intent(in) :: wx(nw, nbands)
    wtilde_re = real(wtilde)
    wtilde_im = aimag(wtilde)
    eps_re = real(eps)
    eps_im = aimag(eps)
    aqsn_re = real(aqsn)
    aqsn_im = aimag(aqsn)
    aqsm = transpose(aqsm_local)
    energies = transpose(wx)
  end subroutine place

  subroutine calculate(nbands, ngpown, ncouls, nw, limittwo, limitone, sexcut, wtilde, eps, aqsn, &
      aqsm_local, wx, vcoul_loc, occ, asx, ach)
    integer, intent(in) :: nbands, ngpown, ncouls, nw
    real(dp), intent(in) :: limittwo, limitone, sexcut
    complex(dp), intent(in) :: wtilde(ncouls, ngpown), eps(ncouls, ngpown)
    complex(dp), intent(in) :: aqsn(ncouls, nbands), aqsm_local(ngpown, nbands)
    real(dp), intent(in) :: wx(nw, nbands), vcoul_loc(ngpown), occ(nbands)
    complex(dp), intent(out) :: asx(nw), ach(nw)
    complex(dp) :: asx1, ach1
    integer :: igp0, ig0, ig1, n0, igp, n, iw

    asx = 0
    ach = 0
    !$omp parallel do schedule(dynamic) default(shared) reduction(+: asx, ach) &
    !$omp   private(ig0, ig1, n0, igp, n, iw, asx1, ach1)
    do igp0 = 1, ngpown, igp_blk
      do ig0 = 1, ncouls, ig_blk
        ig1 = min(ig0 + ig_blk - 1, ncouls)
        do n0 = 1, nbands, n_blk
          do igp = igp0, min(igp0 + igp_blk - 1, ngpown)
            do n = n0, min(n0 + n_blk - 1, nbands)
              do iw = 1, nw
                call strip(ig1 - ig0 + 1, energies(n, iw), limittwo, limitone, sexcut**2, &
                  aqsm(n, igp), wtilde_re(ig0, igp), wtilde_im(ig0, igp), eps_re(ig0, igp), &
                  eps_im(ig0, igp), aqsn_re(ig0, n), aqsn_im(ig0, n), asx1, ach1)
                asx(iw) = asx(iw) - vcoul_loc(igp)*occ(n)*asx1
                ach(iw) = ach(iw) + vcoul_loc(igp)*0.5_dp*ach1
              end do
            end do
          end do
        end do
      end do
    end do
  end subroutine calculate

  ! A block of ig for one igp, band and energy. The limits are values: a load under a condition would
  ! keep the loop from its vectors.
  subroutine strip(ncouls, w, limittwo, limitone, sexcut2, aqsm1, wt_re, wt_im, eps_re, eps_im, &
      aqsn_re, aqsn_im, asx, ach)
    integer, value :: ncouls
    real(dp), value :: w, limittwo, limitone, sexcut2
    complex(dp), value :: aqsm1
    real(dp), intent(in), dimension(ncouls) :: wt_re, wt_im, eps_re, eps_im, aqsn_re, aqsn_im
    complex(dp), intent(out) :: asx, ach
    real(dp) :: aqsm_re, aqsm_im, cutoff, wt2_re, wt2_im, omega2_re, omega2_im, m_re, m_im
    real(dp) :: wdiff_re, wsum, wdiffr, rden, delwr, delw_re, delw_im, cden_re, cden_im
    real(dp) :: ssx2, ssx_re, ssx_im, sch_re, sch_im, asx_re, asx_im, ach_re, ach_im
    logical :: first
    integer :: ig

    aqsm_re = real(aqsm1)
    aqsm_im = aimag(aqsm1)
    ! Nothing is cut off where w is not below zero.
    cutoff = merge(sexcut2, huge(w), w < 0)
    asx_re = 0
    asx_im = 0
    ach_re = 0
    ach_im = 0
    !$omp simd reduction(+: asx_re, asx_im, ach_re, ach_im)
    do ig = 1, ncouls
      wt2_re = wt_re(ig)**2 - wt_im(ig)**2
      wt2_im = 2*wt_re(ig)*wt_im(ig)
      omega2_re = wt2_re*eps_re(ig) - wt2_im*eps_im(ig)
      omega2_im = wt2_re*eps_im(ig) + wt2_im*eps_re(ig)
      m_re = aqsm_re*aqsn_re(ig) + aqsm_im*aqsn_im(ig)
      m_im = aqsm_re*aqsn_im(ig) - aqsm_im*aqsn_re(ig)

      wdiff_re = w - wt_re(ig)
      wsum = w + wt_re(ig)
      wdiffr = wdiff_re**2 + wt_im(ig)**2
      rden = 1/wdiffr
      delwr = (wt_re(ig)**2 + wt_im(ig)**2)*rden
      first = wdiffr > limittwo .and. delwr < limitone
      rden = merge(rden, 0.0_dp, first)
      delw_re = (wt_re(ig)*wdiff_re - wt_im(ig)**2)*rden
      delw_im = (wt_im(ig)*wdiff_re + wt_re(ig)*wt_im(ig))*rden
      sch_re = delw_re*eps_re(ig) - delw_im*eps_im(ig)
      sch_im = delw_re*eps_im(ig) + delw_im*eps_re(ig)

      cden_re = merge(wdiff_re*wsum + wt_im(ig)**2, -2*(wt_re(ig)*wsum - wt_im(ig)**2), first)
      cden_im = merge(-wt2_im, -2*(wt_im(ig)*wsum + wt_re(ig)*wt_im(ig)), first)
      rden = 1/(cden_re**2 + cden_im**2)
      ssx2 = (omega2_re**2 + omega2_im**2)*rden
      ! On a pole delw is no number, so neither branch holds; an ssx that is none is too large.
      rden = merge(rden, 0.0_dp, (first .or. delwr > tol_zero) .and. wdiffr > 0 &
        .and. ssx2 <= cutoff*(eps_re(ig)**2 + eps_im(ig)**2))
      ssx_re = (omega2_re*cden_re + omega2_im*cden_im)*rden
      ssx_im = (omega2_im*cden_re - omega2_re*cden_im)*rden

      asx_re = asx_re + ssx_re*m_re - ssx_im*m_im
      asx_im = asx_im + ssx_re*m_im + ssx_im*m_re
      ach_re = ach_re + sch_re*m_re - sch_im*m_im
      ach_im = ach_im + sch_re*m_im + sch_im*m_re
    end do
    asx = cmplx(asx_re, asx_im, dp)
    ach = cmplx(ach_re, ach_im, dp)
  end subroutine strip
end module loops
