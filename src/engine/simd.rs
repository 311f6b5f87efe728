//! One source, several instruction sets, chosen when the program runs.
//!
//! A kernel is an `#[inline(always)]` function generic over a [`Vector`] of f64 or f32. [`dispatch!`] compiles it
//! for AVX-512, for AVX2 with FMA and for the target's baseline, and calls the widest that the processor has.
//! Kernels have plain loops: what the compiler leaves as a function of its own, as it does with closures and with the
//! functions of iterators that call them where a crate is compiled in many units, has the baseline's instructions.
//! Sums and products are written with vectors, which stay in registers; loops over slices are left to the
//! compiler, which vectorises them for the same instruction set.

// All unsafe code of the crate is here: calls of functions that need an instruction set, by those who hold
// the proof that the processor has it, and loads and stores of slices whose length was checked.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::OnceLock;

use ndarray::NdFloat;

use crate::portable;

/// The proof that the processor has AVX-512 (F, DQ, VL), AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

/// The proof that the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

/// The instructions that every aarch64 processor has.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Baseline;

/// The instructions that every processor has: sums and products, with the same results everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

/// A proof that the processor has an instruction set.
pub(crate) trait Simd: Copy {
    /// Whether a multiply-add is one instruction, with one rounding.
    const FMA: bool;
}

#[cfg(target_arch = "x86_64")]
impl Simd for Avx512 {
    const FMA: bool = true;
}
#[cfg(target_arch = "x86_64")]
impl Simd for Avx2 {
    const FMA: bool = true;
}
#[cfg(target_arch = "aarch64")]
impl Simd for Baseline {
    const FMA: bool = true;
}
impl Simd for Portable {
    const FMA: bool = false;
}

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Vectors of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// Vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// Vectors of 16 bytes, with fused multiply-adds.
    #[cfg(target_arch = "aarch64")]
    Baseline(Baseline),
    /// Vectors of 16 bytes.
    Portable(Portable),
}

impl Level {
    /// The levels that this processor can run, the fastest first.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let fast = {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            [avx512.then_some(Self::Avx512(Avx512(()))), avx2.then_some(Self::Avx2(Avx2(())))]
        };
        #[cfg(target_arch = "aarch64")]
        let fast = [Some(Self::Baseline(Baseline))];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let fast = [];
        fast.into_iter().flatten().chain([Self::Portable(Portable)])
    }

    /// The level that kernels run at: the fastest available, except in [portable mode](portable), or
    /// where a test asks for another.
    #[inline]
    pub(crate) fn current() -> Self {
        #[cfg(test)]
        if let Some(level) = testing::FORCED.get() {
            return level;
        }
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            let fastest = Self::available().next().filter(|_| !portable::is_on());
            fastest.unwrap_or(Self::Portable(Portable))
        })
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Level;
    use std::cell::Cell;

    thread_local! {
        pub(super) static FORCED: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// Runs `f` once per available level, with the kernels of this thread held to it.
    pub(crate) fn at_every_level(mut f: impl FnMut(Level)) {
        for level in Level::available() {
            FORCED.set(Some(level));
            f(level);
        }
        FORCED.set(None);
    }
}

/// A register full of numbers. Who has one has the proof that the processor has such registers.
pub(crate) trait Vector<F: Real>: Copy {
    /// The proof.
    type Level: Simd;
    /// An array of as many numbers in memory.
    type Chunk: AsRef<[F]>;
    /// The number of numbers.
    const LANES: usize;
    /// The number of registers that a kernel can use.
    const REGISTERS: usize;

    /// `x` in every lane.
    fn splat(level: Self::Level, x: F) -> Self;
    /// The numbers of `chunk`.
    fn load(level: Self::Level, chunk: &Self::Chunk) -> Self;
    /// Writes the numbers into `chunk`.
    fn store(self, chunk: &mut Self::Chunk);
    /// The sum of the numbers: halves are added to halves.
    fn sum(self) -> F;
    /// A slice in chunks; the remainder is left out.
    fn chunks(values: &[F]) -> &[Self::Chunk];
    /// The [`chunks`](Self::chunks), to be written.
    fn chunks_mut(values: &mut [F]) -> &mut [Self::Chunk];
    /// self + other.
    fn add(self, other: Self) -> Self;
    /// self - other.
    fn sub(self, other: Self) -> Self;
    /// self other.
    fn mul(self, other: Self) -> Self;
    /// self a + b.
    fn mul_add(self, a: Self, b: Self) -> Self;
}

/// The numbers that kernels compute with: f64 and f32.
pub(crate) trait Real: NdFloat + Default {
    /// Numbers in 64 bytes, the widest register and a cache line.
    const LANES: usize = 64 / size_of::<Self>();
    /// Whether this is f64.
    const IS_F64: bool = size_of::<Self>() == size_of::<f64>();
    /// 1.
    const ONE: Self;

    /// A register of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    type V512: Vector<Self, Level = Avx512>;
    /// A register of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    type V256: Vector<Self, Level = Avx2>;
    /// 16 bytes, with fused multiply-adds.
    #[cfg(target_arch = "aarch64")]
    type VFused: Vector<Self, Level = Baseline>;
    /// 16 bytes.
    type V128: Vector<Self, Level = Portable>;

    /// The nearest number of this type.
    fn of(x: f64) -> Self;
    /// The number as f64.
    fn wide(self) -> f64;
    /// a b + c, fused where that is one instruction; elsewhere the standard library calls a slow function.
    fn multiply_add<S: Simd>(a: Self, b: Self, c: Self) -> Self;

    /// Copies columns of `stride` numbers to columns of [`stride_of`](Self::stride_of).
    fn copy_in(from: &[f64], stride: usize, to: &mut [Self]);
    /// Copies as [`copy_in`](Self::copy_in) does, for [`kept`](Self::kept), unless this is f64.
    fn keep(from: &[f64], stride: usize, to: &mut [Self]) {
        if !Self::IS_F64 {
            Self::copy_in(from, stride, to);
        }
    }
    /// The copy of `from` that [`keep`](Self::keep) made, or `from` itself.
    fn kept<'a>(from: &'a [f64], kept: &'a [Self]) -> &'a [Self];
    /// `from`, if it can be read there, else nothing.
    fn as_is(from: &[f64]) -> Option<&[Self]>;
    /// `to`, if results can be written there, else nothing.
    fn direct(to: &mut [f64]) -> &mut [Self];
    /// Copies columns of [`stride_of`](Self::stride_of) numbers to columns of `stride`.
    fn copy_out(from: &[Self], stride: usize, to: &mut [f64]);

    /// The thread's buffer of [`gemm`](super::gemm), to be [put back](Self::put_back).
    fn take_buffer() -> Vec<Self>;
    /// Keeps the buffer for the thread's next product.
    fn put_back(buffer: Vec<Self>);

    /// The distance of two columns that have a distance of `stride` in f64.
    fn stride_of(stride: usize) -> usize {
        stride.next_multiple_of(Self::LANES)
    }
}

thread_local! {
    static BUFFER_F64: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
    static BUFFER_F32: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

impl Real for f64 {
    const ONE: f64 = 1.0;

    #[cfg(target_arch = "x86_64")]
    type V512 = std::arch::x86_64::__m512d;
    #[cfg(target_arch = "x86_64")]
    type V256 = std::arch::x86_64::__m256d;
    #[cfg(target_arch = "aarch64")]
    type VFused = Lanes<f64, 2, Baseline>;
    type V128 = Lanes<f64, 2, Portable>;

    #[inline(always)]
    fn of(x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn multiply_add<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
        if S::FMA { f64::mul_add(a, b, c) } else { a * b + c }
    }
    fn take_buffer() -> Vec<f64> {
        BUFFER_F64.take()
    }
    fn put_back(buffer: Vec<f64>) {
        BUFFER_F64.set(buffer);
    }
    fn copy_in(from: &[f64], _: usize, to: &mut [f64]) {
        to[..from.len()].copy_from_slice(from);
    }
    fn kept<'a>(from: &'a [f64], _: &'a [f64]) -> &'a [f64] {
        from
    }
    fn as_is(from: &[f64]) -> Option<&[f64]> {
        Some(from)
    }
    fn direct(to: &mut [f64]) -> &mut [f64] {
        to
    }
    fn copy_out(from: &[f64], _: usize, to: &mut [f64]) {
        to.copy_from_slice(from);
    }
}

impl Real for f32 {
    const ONE: f32 = 1.0;

    #[cfg(target_arch = "x86_64")]
    type V512 = std::arch::x86_64::__m512;
    #[cfg(target_arch = "x86_64")]
    type V256 = std::arch::x86_64::__m256;
    #[cfg(target_arch = "aarch64")]
    type VFused = Lanes<f32, 4, Baseline>;
    type V128 = Lanes<f32, 4, Portable>;

    #[inline(always)]
    fn of(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn multiply_add<S: Simd>(a: f32, b: f32, c: f32) -> f32 {
        if S::FMA { f32::mul_add(a, b, c) } else { a * b + c }
    }
    fn take_buffer() -> Vec<f32> {
        BUFFER_F32.take()
    }
    fn put_back(buffer: Vec<f32>) {
        BUFFER_F32.set(buffer);
    }
    fn copy_in(from: &[f64], stride: usize, to: &mut [f32]) {
        for (to, from) in to.chunks_mut(Self::stride_of(stride)).zip(from.chunks(stride)) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
            to[from.len()..].fill(0.0);
        }
    }
    fn kept<'a>(_: &'a [f64], kept: &'a [f32]) -> &'a [f32] {
        kept
    }
    fn as_is(_: &[f64]) -> Option<&[f32]> {
        None
    }
    fn direct(_: &mut [f64]) -> &mut [f32] {
        &mut []
    }
    fn copy_out(from: &[f32], stride: usize, to: &mut [f64]) {
        let from = from.chunks_exact(Self::stride_of(stride));
        for (to, from) in to.chunks_exact_mut(stride).zip(from) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = f64::from(*from));
        }
    }
}

/// The sums of the numbers of registers. Written with shuffles: of a loop over lanes in memory the compiler may make
/// gathers of eight registers, which take longer.
#[cfg(target_arch = "x86_64")]
mod halves {
    use std::arch::x86_64::*;

    #[inline(always)]
    unsafe fn sum_128d(x: __m128d) -> f64 {
        // SAFETY: every processor has the instructions.
        unsafe { _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x))) }
    }
    #[inline(always)]
    unsafe fn sum_128(x: __m128) -> f32 {
        // SAFETY: as above.
        unsafe {
            let two = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
    #[inline(always)]
    pub(super) unsafe fn sum_256d(x: __m256d) -> f64 {
        // SAFETY: the caller has the proof that the processor has AVX2.
        unsafe { sum_128d(_mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd::<1>(x))) }
    }
    #[inline(always)]
    pub(super) unsafe fn sum_256(x: __m256) -> f32 {
        // SAFETY: as above.
        unsafe { sum_128(_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x))) }
    }
    #[inline(always)]
    pub(super) unsafe fn sum_512d(x: __m512d) -> f64 {
        // SAFETY: the caller has the proof that the processor has AVX-512 F and DQ.
        unsafe {
            sum_256d(_mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd::<1>(x)))
        }
    }
    #[inline(always)]
    pub(super) unsafe fn sum_512(x: __m512) -> f32 {
        // SAFETY: as above.
        unsafe { sum_256(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x))) }
    }
}

/// A register of the processor as a [`Vector`].
#[cfg(target_arch = "x86_64")]
macro_rules! register {
    ($vector:ident of $lanes:literal $real:ident, $level:ident, $registers:literal:
     $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident, $mul_add:ident, $sum:ident) => {
        impl Vector<$real> for std::arch::x86_64::$vector {
            type Level = $level;
            type Chunk = [$real; $lanes];
            const LANES: usize = $lanes;
            const REGISTERS: usize = $registers;

            #[inline(always)]
            fn splat(_: $level, x: $real) -> Self {
                // SAFETY: the level is the proof that the processor has the instruction.
                unsafe { std::arch::x86_64::$splat(x) }
            }
            #[inline(always)]
            fn load(_: $level, chunk: &[$real; $lanes]) -> Self {
                // SAFETY: as above, and as many numbers as are read.
                unsafe { std::arch::x86_64::$load(chunk.as_ptr()) }
            }
            #[inline(always)]
            fn store(self, chunk: &mut [$real; $lanes]) {
                // SAFETY: `self` is the proof, and there is room for as many numbers as are written.
                unsafe { std::arch::x86_64::$store(chunk.as_mut_ptr(), self) }
            }
            #[inline(always)]
            fn sum(self) -> $real {
                // SAFETY: `self` is the proof that the processor has the instructions.
                unsafe { halves::$sum(self) }
            }
            #[inline(always)]
            fn chunks(values: &[$real]) -> &[[$real; $lanes]] {
                values.as_chunks().0
            }
            #[inline(always)]
            fn chunks_mut(values: &mut [$real]) -> &mut [[$real; $lanes]] {
                values.as_chunks_mut().0
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: `self` is the proof that the processor has the instruction.
                unsafe { std::arch::x86_64::$add(self, other) }
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$sub(self, other) }
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$mul(self, other) }
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { std::arch::x86_64::$mul_add(self, a, b) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
register! { __m512d of 8 f64, Avx512, 32:
_mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_fmadd_pd, sum_512d }
#[cfg(target_arch = "x86_64")]
register! { __m512 of 16 f32, Avx512, 32:
_mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_fmadd_ps, sum_512 }
#[cfg(target_arch = "x86_64")]
register! { __m256d of 4 f64, Avx2, 16:
_mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_fmadd_pd, sum_256d }
#[cfg(target_arch = "x86_64")]
register! { __m256 of 8 f32, Avx2, 16:
_mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps, sum_256 }

/// Numbers one by one; the compiler finds the registers that the target has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes<F, const L: usize, S>([F; L], S);

impl<F: Real, const L: usize, S: Simd> Vector<F> for Lanes<F, L, S> {
    type Level = S;
    type Chunk = [F; L];
    const LANES: usize = L;
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn splat(level: S, x: F) -> Self {
        Self([x; L], level)
    }
    #[inline(always)]
    fn load(level: S, chunk: &[F; L]) -> Self {
        Self(*chunk, level)
    }
    #[inline(always)]
    fn store(self, chunk: &mut [F; L]) {
        *chunk = self.0;
    }
    #[inline(always)]
    fn sum(self) -> F {
        let (mut lanes, mut half) = (self.0, L / 2);
        while half > 0 {
            for l in 0..half {
                let other = lanes[l + half];
                lanes[l] += other;
            }
            half /= 2;
        }
        lanes[0]
    }
    #[inline(always)]
    fn chunks(values: &[F]) -> &[[F; L]] {
        values.as_chunks().0
    }
    #[inline(always)]
    fn chunks_mut(values: &mut [F]) -> &mut [[F; L]] {
        values.as_chunks_mut().0
    }
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for l in 0..L {
            self.0[l] += other.0[l];
        }
        self
    }
    #[inline(always)]
    fn sub(mut self, other: Self) -> Self {
        for l in 0..L {
            self.0[l] -= other.0[l];
        }
        self
    }
    #[inline(always)]
    fn mul(mut self, other: Self) -> Self {
        for l in 0..L {
            self.0[l] *= other.0[l];
        }
        self
    }
    #[inline(always)]
    fn mul_add(mut self, a: Self, b: Self) -> Self {
        for l in 0..L {
            self.0[l] = F::multiply_add::<S>(self.0[l], a.0[l], b.0[l]);
        }
        self
    }
}

/// The type parameter of a function, or f64 where there is no type parameter.
macro_rules! real {
    () => {
        f64
    };
    ($generic:ident) => {
        $generic
    };
}

/// Defines a function that runs `$body` at [`Level::current`]: `$body::<V>(level, ..)`, V the registers of f64, or
/// `$body::<F, V>(level, ..)`, V the registers of F, where the function is generic over F.
macro_rules! dispatch {
    ($(#[$attribute:meta])* fn $name:ident$(<$generic:ident>)?($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? => $body:ident) => {
        $(#[$attribute])*
        #[allow(unsafe_code)]
        pub(crate) fn $name$(<$generic: $crate::engine::simd::Real>)?($($arg: $type),*) $(-> $out)? {
            use $crate::engine::simd::{Level, Real};
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
                fn avx512$(<$generic: Real>)?(level: $crate::engine::simd::Avx512, $($arg: $type),*) $(-> $out)? {
                    $body::<$($generic,)? <real!($($generic)?) as Real>::V512>(level, $($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2$(<$generic: Real>)?(level: $crate::engine::simd::Avx2, $($arg: $type),*) $(-> $out)? {
                    $body::<$($generic,)? <real!($($generic)?) as Real>::V256>(level, $($arg),*)
                }
                match Level::current() {
                    // SAFETY: a level is the proof that the processor has it.
                    Level::Avx512(level) => unsafe { avx512(level, $($arg),*) },
                    // SAFETY: as above.
                    Level::Avx2(level) => unsafe { avx2(level, $($arg),*) },
                    Level::Portable(level) => $body::<$($generic,)? <real!($($generic)?) as Real>::V128>(level, $($arg),*),
                }
            }
            #[cfg(target_arch = "aarch64")]
            match Level::current() {
                Level::Baseline(level) => $body::<$($generic,)? <real!($($generic)?) as Real>::VFused>(level, $($arg),*),
                Level::Portable(level) => $body::<$($generic,)? <real!($($generic)?) as Real>::V128>(level, $($arg),*),
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            {
                let Level::Portable(level) = Level::current();
                $body::<$($generic,)? <real!($($generic)?) as Real>::V128>(level, $($arg),*)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::testing::at_every_level;
    use super::*;

    #[inline(always)]
    fn combine_body<F: Real, V: Vector<F>>(level: V::Level, x: &[F], y: &[F], out: &mut [F]) -> F {
        let mut sum = V::splat(level, F::default());
        for ((x, y), out) in V::chunks(x).iter().zip(V::chunks(y)).zip(V::chunks_mut(out)) {
            let (x, y) = (V::load(level, x), V::load(level, y));
            let z = x.mul_add(y, x.sub(y)).add(x.mul(x));
            z.store(out);
            sum = sum.add(z);
        }
        sum.sum()
    }

    dispatch! {
        /// out = x y + (x - y) + x x, of whole registers; returns the sum.
        fn combine<F>(x: &[F], y: &[F], out: &mut [F]) -> F => combine_body
    }

    fn check<F: Real>(level: Level) {
        // 37 numbers: no register divides them, and the remainder stays unchanged.
        let x: Vec<F> = (0..37).map(|i| F::of(f64::from(i % 9) - 4.0)).collect();
        let y: Vec<F> = (0..37).map(|i| F::of(f64::from(i % 7) - 2.0)).collect();
        let mut out = vec![F::of(99.0); 37];
        let sum = combine(&x, &y, &mut out).wide();
        let whole = out.iter().take_while(|z| z.wide() != 99.0).count();
        assert!(
            whole > 32 - F::LANES && out[whole..].iter().all(|z| z.wide() == 99.0),
            "{level:?}"
        );
        for i in 0..whole {
            let (x, y) = (x[i].wide(), y[i].wide());
            assert_eq!(out[i].wide(), x * y + (x - y) + x * x, "{level:?} {i}");
        }
        assert_eq!(sum, out[..whole].iter().map(|z| z.wide()).sum::<f64>(), "{level:?}");
    }

    /// On small whole numbers, where nothing is rounded. This test also runs under Miri
    /// (`.ci/run`).
    #[test]
    fn registers_compute_what_their_lanes_do() {
        at_every_level(|level| {
            check::<f64>(level);
            check::<f32>(level);
        });
    }
}
