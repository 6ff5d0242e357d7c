! Σ as a matrix in Fortran, to compare with `gpp offdiag --device cpu`: P is made in blocks that stay in cache, and
! multiplied by A by a library's zgemm or by plain loops. Random numbers, real poles, the extents of `demo`; as CSV.
!   gfortran -O3 -march=native -ffast-math -fopenmp offdiag.f90 -lopenblas -o offdiag
!   OPENBLAS_NUM_THREADS=1 ./offdiag SECONDS
program offdiag
  use, intrinsic :: iso_fortran_env, only: dp => real64, int64
  use omp_lib, only: omp_get_max_threads
  implicit none

  ! Extents of demo.
  integer, parameter :: nbands = 96, nvband = 51, ngpown = 139, ncouls = 1111, nw = 2
  ! igp and ig of a block of P, columns m that a thread takes, bands n at a time.
  integer, parameter :: some_igp = 64, some_ig = 256, some_m = 64, some_n = 8
  ! sch and ssx.
  integer, parameter :: kinds = 2
  integer, parameter :: counts(*) = [32, 64, 96, 128, 256]

  interface
    subroutine zgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
      import :: dp
      character, intent(in) :: transa, transb
      integer, intent(in) :: m, n, k, lda, ldb, ldc
      complex(dp), intent(in) :: alpha, beta, a(lda, *), b(ldb, *)
      complex(dp), intent(inout) :: c(ldc, *)
    end subroutine zgemm
  end interface

  real(dp) :: wtilde(ncouls, ngpown), vcoul(ngpown), energy(nbands), seconds, timed_seconds
  complex(dp) :: eps(ncouls, ngpown)
  integer :: row(ngpown), at
  character(len=32) :: text

  call get_command_argument(1, text)
  seconds = 1
  if (len_trim(text) > 0) read (text, *) seconds
  call random_number(wtilde)
  wtilde = 5 + 55 * wtilde
  eps = complex_numbers(ncouls, ngpown)
  call random_number(vcoul)
  energy = [(-12 + 0.4_dp * at, at = 1, nbands)]
  row = [(at * (ncouls / ngpown), at = 1, ngpown)]
  print '(a)', 'threads,bands,way,seconds,gflops,difference'
  do at = 1, size(counts)
    call compare(counts(at))
  end do

contains

  function complex_numbers(rows, columns) result(z)
    integer, intent(in) :: rows, columns
    complex(dp) :: z(rows, columns)
    real(dp), allocatable :: parts(:, :, :)
    allocate (parts(2, rows, columns))
    call random_number(parts)
    z = cmplx(2 * parts(1, :, :) - 1, 2 * parts(2, :, :) - 1, dp)
  end function complex_numbers

  ! Both ways for so many bands, and how far their results differ, relative to the largest element.
  subroutine compare(bands)
    integer, intent(in) :: bands
    complex(dp), allocatable :: a(:, :, :), sigma(:, :, :, :), first(:, :, :, :)
    integer :: n
    allocate (a(bands, ncouls, nbands))
    do n = 1, nbands
      a(:, :, n) = complex_numbers(bands, ncouls)
    end do
    allocate (sigma(bands, bands, kinds, nw))
    call timed(bands, a, .true., sigma)
    first = sigma
    call report(bands, 'library', timed_seconds, 0.0_dp)
    call timed(bands, a, .false., sigma)
    call report(bands, 'plain', timed_seconds, maxval(abs(sigma - first)) / maxval(abs(first)))
  end subroutine compare

  subroutine report(bands, way, median, difference)
    integer, intent(in) :: bands
    character(len=*), intent(in) :: way
    real(dp), intent(in) :: median, difference
    real(dp) :: flops
    flops = 8.0_dp * nw * (nbands + nvband) * ngpown * real(bands, dp) * (ncouls + bands)
    print '(i0, ",", i0, ",", a, ",", f0.6, ",", f0.2, ",", es8.1)', &
      omp_get_max_threads(), bands, way, median, 1e-9_dp * flops / median, difference
  end subroutine report

  ! The median time of calculations that take the seconds asked for, three at least.
  subroutine timed(bands, a, by_library, sigma)
    integer, intent(in) :: bands
    complex(dp), intent(in) :: a(:, :, :)
    logical, intent(in) :: by_library
    complex(dp), intent(out) :: sigma(:, :, :, :)
    real(dp) :: times(1000), total
    integer(int64) :: begun, ended, rate
    integer :: runs
    call sum_all(bands, a, by_library, sigma)
    runs = 0
    total = 0
    do while ((total < seconds .or. runs < 3) .and. runs < size(times))
      call system_clock(begun, rate)
      call sum_all(bands, a, by_library, sigma)
      call system_clock(ended)
      runs = runs + 1
      times(runs) = real(ended - begun, dp) / rate
      total = total + times(runs)
    end do
    timed_seconds = median_of(times(:runs))
  end subroutine timed

  function median_of(values) result(median)
    real(dp), intent(in) :: values(:)
    real(dp) :: median
    integer :: i
    ! The value that half of the others are not above.
    do i = 1, size(values)
      median = values(i)
      if (count(values < median) <= size(values) / 2 .and. count(values <= median) > size(values) / 2) return
    end do
  end function median_of

  ! The matrices: bands n some at a time, first U of all their blocks of igp, then its products with V.
  subroutine sum_all(bands, a, by_library, sigma)
    integer, intent(in) :: bands
    complex(dp), intent(in) :: a(:, :, :)
    logical, intent(in) :: by_library
    complex(dp), intent(out) :: sigma(:, :, :, :)
    complex(dp), allocatable, save :: u(:, :, :, :, :), v(:, :, :)
    integer :: n, iw, kind, igp, m, count, item
    if (allocated(u)) deallocate (u, v)
    allocate (u(bands, ngpown, kinds, nw, some_n), v(ngpown, bands, some_n))
    sigma = 0
    do n = 1, nbands, some_n
      count = min(some_n, nbands + 1 - n)
      !$omp parallel do private(igp, m)
      do item = 1, count
        do m = 1, bands
          do igp = 1, ngpown
            v(igp, m, item) = vcoul(igp) * conjg(a(m, row(igp), n + item - 1))
          end do
        end do
      end do
      !$omp parallel do collapse(3) schedule(dynamic) private(item, iw, igp)
      do item = 1, count
        do iw = 1, nw
          do igp = 1, ngpown, some_igp
            call first_product(bands, a(:, :, n + item - 1), n + item - 1, iw, igp, by_library, &
              u(:, :, :, iw, item))
          end do
        end do
      end do
      !$omp parallel do collapse(3) schedule(dynamic) private(item, iw, kind, m)
      do iw = 1, nw
        do kind = 1, kinds
          do m = 1, bands, some_m
            do item = 1, count
              if (kind == 1 .or. n + item - 1 <= nvband) then
                call product(bands, min(some_m, bands + 1 - m), ngpown, u(:, :, kind, iw, item), bands, &
                  v(:, m:, item), ngpown, by_library, sigma(:, m:, kind, iw), bands)
              end if
            end do
          end do
        end do
      end do
    end do
  end subroutine sum_all

  ! U of some igp, of sch and where the band is occupied of ssx.
  subroutine first_product(bands, a, n, iw, igp, by_library, u)
    integer, intent(in) :: bands, n, iw, igp
    complex(dp), contiguous, intent(in) :: a(:, :)
    logical, intent(in) :: by_library
    complex(dp), contiguous, intent(inout) :: u(:, :, :)
    complex(dp) :: p(some_ig, some_igp)
    real(dp) :: w, wdiff, delw
    integer :: kind, ig, i, j, own, ends
    w = 6.2_dp + iw - energy(n)
    own = min(some_igp, ngpown + 1 - igp)
    do kind = 1, merge(kinds, 1, n <= nvband)
      u(:, igp:igp + own - 1, kind) = 0
      do ig = 1, ncouls, some_ig
        ends = min(some_ig, ncouls + 1 - ig)
        do j = 1, own
          do i = 1, ends
            wdiff = w - wtilde(ig + i - 1, igp + j - 1)
            delw = merge(wtilde(ig + i - 1, igp + j - 1) / wdiff, 0.0_dp, abs(wdiff) > 0.5_dp)
            if (kind == 2) delw = delw * wtilde(ig + i - 1, igp + j - 1) / (w + wtilde(ig + i - 1, igp + j - 1))
            p(i, j) = delw * eps(ig + i - 1, igp + j - 1)
          end do
        end do
        call product(bands, own, ends, a(:, ig:), bands, p, some_ig, by_library, u(:, igp:, kind), bands)
      end do
    end do
  end subroutine first_product

  ! c = c + a·b
  subroutine product(rows, columns, depth, a, lda, b, ldb, by_library, c, ldc)
    integer, intent(in) :: rows, columns, depth, lda, ldb, ldc
    complex(dp), intent(in) :: a(lda, *), b(ldb, *)
    logical, intent(in) :: by_library
    complex(dp), intent(inout) :: c(ldc, *)
    integer :: i, j
    if (by_library) then
      call zgemm('N', 'N', rows, columns, depth, (1.0_dp, 0.0_dp), a, lda, b, ldb, (1.0_dp, 0.0_dp), c, ldc)
    else
      do j = 1, columns
        do i = 1, depth
          c(1:rows, j) = c(1:rows, j) + a(1:rows, i) * b(i, j)
        end do
      end do
    end if
  end subroutine product
end program offdiag
