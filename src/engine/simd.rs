//! One source, several instruction sets, chosen when the program runs.
//!
//! A kernel is an `#[inline(always)]` function generic over `L`, the number of f64 lanes of a
//! vector register, and `FMA`, whether fused multiply-add is one instruction. [`dispatch!`]
//! compiles it for AVX-512, for AVX2 with FMA and for the target's baseline, and calls the widest
//! that the processor has. Vectorisation is left to the compiler: kernels keep `[f64; L]` arrays.

#![allow(unsafe_code)]

use std::sync::OnceLock;

/// An instruction set that kernels are compiled for.
#[cfg_attr(not(any(test, target_arch = "x86_64")), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// x86-64 with AVX-512 (F, DQ, VL): 8 lanes.
    Avx512,
    /// x86-64 with AVX2 and FMA: 4 lanes.
    Avx2,
    /// Whatever the crate was compiled for: 2 lanes.
    Portable,
}

#[cfg_attr(not(any(test, target_arch = "x86_64")), allow(dead_code))]
impl Level {
    /// The levels that this processor can run, widest first.
    pub(crate) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let (avx512, avx2) = (
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl"),
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        );
        #[cfg(not(target_arch = "x86_64"))]
        let (avx512, avx2) = (false, false);
        let has = [(Self::Avx512, avx512 && avx2), (Self::Avx2, avx2), (Self::Portable, true)];
        has.into_iter().filter(|(_, has)| *has).map(|(level, _)| level)
    }

    /// The level that kernels run at: the widest available, unless a test asks for another.
    #[inline]
    pub(crate) fn current() -> Self {
        #[cfg(test)]
        if let Some(level) = testing::FORCED.get() {
            return level;
        }
        static WIDEST: OnceLock<Level> = OnceLock::new();
        *WIDEST.get_or_init(|| Self::available().next().expect("the baseline is always there"))
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

/// a b + c, fused where that is one instruction; `f64::mul_add` elsewhere calls a slow function.
#[inline(always)]
pub(crate) fn mul_add<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// c + a b, lane by lane.
#[inline(always)]
pub(crate) fn accumulate<const L: usize, const FMA: bool>(
    c: &mut [f64; L],
    a: &[f64; L],
    b: &[f64; L],
) {
    for l in 0..L {
        c[l] = mul_add::<FMA>(a[l], b[l], c[l]);
    }
}

/// How many vectors [`sums`] reduces at a time.
pub(crate) const GROUP: usize = 8;

/// The sums over the lanes of each of `GROUP` vectors, one function per level.
pub(crate) mod sums {
    use super::GROUP;

    /// Halves are added to halves until one number is left. `black_box` takes the vectors through
    /// memory, where a half is an ordinary load; left in registers, the compiler takes them apart
    /// lane by lane, at three times the cost.
    #[inline(always)]
    pub(crate) fn portable<const L: usize>(mut v: [[f64; L]; GROUP]) -> [f64; GROUP] {
        let mut half = L / 2;
        while half > 0 {
            std::hint::black_box(&mut v);
            for v in &mut v {
                for i in 0..half {
                    v[i] += v[i + half];
                }
            }
            half /= 2;
        }
        v.map(|v| v[0])
    }

    /// Each round adds the lanes of two vectors pairwise and packs them into one. Written in
    /// intrinsics, because the compiler does not find these shuffles.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    pub(crate) fn avx512(v: [[f64; 8]; GROUP]) -> [f64; GROUP] {
        use std::arch::x86_64::*;
        #[repr(align(64))]
        struct Aligned([[f64; 8]; GROUP]);
        // Through memory, so that no lane is computed apart from its vector.
        let v = std::hint::black_box(Aligned(v));
        // SAFETY: eight numbers are read from an array of eight.
        let v = v.0.each_ref().map(|v| unsafe { _mm512_loadu_pd(v.as_ptr()) });
        let by_lane = |a, b| _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
        let by_pair = |a, b| {
            let (even, odd) = (_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xdd));
            _mm512_add_pd(even, odd)
        };
        let first = by_pair(by_lane(v[0], v[1]), by_lane(v[2], v[3])); // of 0 1 0 1 2 3 2 3
        let second = by_pair(by_lane(v[4], v[5]), by_lane(v[6], v[7])); // of 4 5 4 5 6 7 6 7
        let sum = by_pair(first, second);
        let mut out = [0.0; GROUP];
        // SAFETY: eight numbers are written to an array of eight.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), sum) };
        out
    }
}

/// Defines a function that runs `$body::<L, FMA>` at [`Level::current`]. With `with sums`, the body
/// gets the level's function of [`sums`] as its last argument.
macro_rules! dispatch {
    ($(#[$attribute:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) => $body:ident $(with $sums:ident)?) => {
        $(#[$attribute])*
        #[allow(unsafe_code)]
        pub(crate) fn $name($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
                fn avx512($($arg: $type),*) {
                    $body::<8, true>($($arg,)* $(|v| $sums::avx512(v))?)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $type),*) {
                    $body::<4, true>($($arg,)* $($sums::portable)?)
                }
                match $crate::engine::simd::Level::current() {
                    // SAFETY: `Level` is only ever one that the processor was found to have.
                    $crate::engine::simd::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::engine::simd::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::engine::simd::Level::Portable => {}
                }
            }
            const FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
            $body::<2, FMA>($($arg,)* $($sums::portable)?)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums_body<const L: usize, const FMA: bool>(
        out: &mut [f64; GROUP],
        sums: impl Fn([[f64; L]; GROUP]) -> [f64; GROUP],
    ) {
        let lane = |j: usize, i: usize| (100 * j + i * i) as f64;
        *out = sums(std::array::from_fn(|j| std::array::from_fn(|i| lane(j, i))));
        for (j, out) in out.iter_mut().enumerate() {
            *out -= (0..L).map(|i| lane(j, i)).sum::<f64>();
        }
    }
    dispatch! { fn sums_error(out: &mut [f64; GROUP]) => sums_body with sums }

    #[test]
    fn sums_add_each_vector() {
        testing::at_every_level(|level| {
            let mut out = [1.0; GROUP];
            sums_error(&mut out);
            assert_eq!(out, [0.0; GROUP], "{level:?}");
        });
    }
}
