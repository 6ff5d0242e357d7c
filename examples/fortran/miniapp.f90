! A small problem of BerkeleyGW's form, and the loop of its GPP mini-app, which gpp takes the place of.
module miniapp
  use, intrinsic :: iso_fortran_env, only: dp => real64
  implicit none
  private
  public :: dp, make, loop

  integer, parameter, public :: ncouls = 150, ng = 160, nbands = 24, nw = 3
  ! sig%gamma in eV, sig%sexcut.
  real(dp), parameter, public :: gamma = 0.5_dp, sexcut = 4

contains

  ! All ngpown columns of a rank alone; those of a share are a part of them.
  subroutine make(ngpown, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, &
      e, occ, omega)
    integer, intent(in) :: ngpown
    complex(dp), allocatable, intent(out) :: wtilde_array(:, :), I_eps_array(:, :)
    complex(dp), allocatable, intent(out) :: aqsntemp(:, :), aqsmtemp(:, :)
    real(dp), allocatable, intent(out) :: vcoul(:), e(:), occ(:), omega(:)
    integer, allocatable, intent(out) :: inv_igp_index(:), indinv(:)
    real(dp) :: x, y
    integer :: ig, igp, n

    allocate (wtilde_array(ncouls, ngpown), I_eps_array(ncouls, ngpown))
    allocate (aqsntemp(ncouls, nbands), aqsmtemp(ncouls, nbands))
    do igp = 1, ngpown
      do ig = 1, ncouls
        x = modulo(0.618_dp*ig + 0.414_dp*igp, 1.0_dp)
        y = modulo(0.271_dp*ig + 0.732_dp*igp, 1.0_dp)
        wtilde_array(ig, igp) = cmplx(2 + 30*x, 0.3_dp*y, dp)
        I_eps_array(ig, igp) = cmplx(x*y, 0.1_dp*(x - y), dp)
      end do
    end do
    do n = 1, nbands
      do ig = 1, ncouls
        x = modulo(0.577_dp*ig + 0.302_dp*n, 1.0_dp)
        y = modulo(0.915_dp*ig + 0.159_dp*n, 1.0_dp)
        aqsntemp(ig, n) = cmplx(x, y - 0.5_dp, dp)/ig
        aqsmtemp(ig, n) = cmplx(y, x - 0.5_dp, dp)/ig
      end do
    end do
    vcoul = [(10.0_dp/ig, ig=1, ncouls)]
    ! The G' of every seventh column is beyond the cutoff and has no row.
    inv_igp_index = [(merge(ncouls + 1, 1 + modulo(7*igp, ncouls), modulo(igp, 7) == 0), igp=1, ngpown)]
    indinv = [(merge(ncouls + 1 - ig, 0, ig <= ncouls), ig=1, ng)]
    e = [(n - 8.25_dp, n=1, nbands)]
    occ = [(merge(1, 0, n <= 8), n=1, nbands)]
    omega = [-0.5_dp, 0.0_dp, 0.5_dp]
  end subroutine make

  ! The mini-app's loop: asx and ach of these columns, and the sums of the sizes of their terms.
  subroutine loop(wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, &
      omega, asx, ach, sizes)
    complex(dp), intent(in) :: wtilde_array(:, :), I_eps_array(:, :), aqsntemp(:, :), aqsmtemp(:, :)
    real(dp), intent(in) :: vcoul(:), e(:), occ(:), omega(:)
    integer, intent(in) :: inv_igp_index(:), indinv(:)
    complex(dp), intent(out) :: asx(:), ach(:)
    real(dp), intent(out) :: sizes(:)
    real(dp), parameter :: tol_zero = 1e-12_dp, tol_small = 1e-6_dp
    complex(dp) :: wtilde, wtilde2, Omega2, wdiff, delw, ssx, sch, matngmatmgp
    real(dp) :: wx, delwr, wdiffr, limitone, limittwo
    integer :: n1, my_igp, igp, ig, iw

    limitone = 1/(tol_small*4)
    limittwo = gamma**2
    asx = 0
    ach = 0
    sizes = 0
    do n1 = 1, size(e)
      do my_igp = 1, size(wtilde_array, 2)
        igp = indinv(inv_igp_index(my_igp))
        if (igp > ncouls .or. igp <= 0) cycle
        do iw = 1, size(omega)
          wx = omega(iw) - e(n1)
          if (abs(wx) < tol_zero) wx = tol_zero
          do ig = 1, size(wtilde_array, 1)
            wtilde = wtilde_array(ig, my_igp)
            wtilde2 = wtilde**2
            Omega2 = wtilde2*I_eps_array(ig, my_igp)
            matngmatmgp = aqsntemp(ig, n1)*conjg(aqsmtemp(igp, n1))*vcoul(igp)
            wdiff = wx - wtilde
            delw = wtilde/wdiff
            delwr = real(delw*conjg(delw))
            wdiffr = real(wdiff*conjg(wdiff))
            if (wdiffr > limittwo .and. delwr < limitone) then
              sch = delw*I_eps_array(ig, my_igp)
              ssx = Omega2/(wx**2 - wtilde2)
            else if (delwr > tol_zero) then
              sch = 0
              ssx = -Omega2*delw/(4*wtilde2*(delw + 0.5_dp))
            else
              sch = 0
              ssx = 0
            end if
            if (abs(ssx) > sexcut*abs(I_eps_array(ig, my_igp)) .and. wx < 0) ssx = 0
            asx(iw) = asx(iw) - ssx*occ(n1)*matngmatmgp
            ach(iw) = ach(iw) + 0.5_dp*sch*matngmatmgp
            sizes(iw) = sizes(iw) + (abs(ssx)*occ(n1) + abs(sch))*abs(matngmatmgp)
          end do
        end do
      end do
    end do
  end subroutine loop
end module miniapp
