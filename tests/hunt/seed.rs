//! Chance that can be repeated: one number decides everything that is drawn from it.

/// A source of numbers (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    /// Starts at a number.
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).expect("a size")).expect("below a size")
    }

    /// Whether something that is so in `percent` of a hundred cases is so now.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some.
    pub(crate) fn pick<'a, T>(&mut self, some: &'a [T]) -> &'a T {
        &some[self.below(some.len())]
    }

    /// Puts a list into another order.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (2..=list.len()).rev() {
            list.swap(end - 1, self.below(end));
        }
    }
}

/// Leaves out of a list what can be left out while `fails` still holds: the smallest list that shows a fault, as far as taking
/// away one after the other finds it.
pub(crate) fn smallest<T: Clone>(list: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = list.to_vec();
    loop {
        let before = kept.len();
        let mut place = 0;
        while place < kept.len() {
            let mut fewer = kept.clone();
            fewer.remove(place);
            if fails(&fewer) {
                kept = fewer;
            } else {
                place += 1;
            }
        }
        if kept.len() == before {
            return kept;
        }
    }
}
