//! Energies to look up by range.

/// Some energies, sorted.
#[derive(Debug)]
pub struct Lookup {
    sorted: Vec<f64>,
    /// How many lie below each of evenly spaced bounds, from the first energy to the last.
    below: Vec<u32>,
    scale: f64,
    /// Whether an energy lies in each of many more cells, by bits.
    taken: Vec<u64>,
    fine_scale: f64,
}

/// Cells for each energy, and in all: so many that few hold several.
const CELLS_EACH: usize = 8;
const MOST_CELLS: usize = 1 << 14;

/// Fine cells for each cell: so many that few are taken, so few that their bits are at hand.
const FINE: usize = 16;

impl Lookup {
    /// From finite ones in any order, or none.
    pub fn of(energies: impl IntoIterator<Item = f64>) -> Lookup {
        let mut sorted: Vec<f64> = energies.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let (first, last) = match sorted[..] {
            [] => (0.0, 0.0),
            [only] => (only, only),
            [first, .., last] => (first, last),
        };
        let cells = (CELLS_EACH * sorted.len()).next_power_of_two().clamp(64, MOST_CELLS);
        let fine = FINE * cells;
        // Finite where all are the same.
        let [scale, fine_scale] = [cells, fine].map(|all| all as f64 / (last - first).max(1e-300));
        let mut below = vec![0; cells + 1];
        sorted.iter().for_each(|w| below[(((w - first) * scale) as usize).min(cells)] += 1);
        let mut sum = 0;
        below.iter_mut().for_each(|count| (*count, sum) = (sum, sum + *count));
        let mut energies = Lookup { sorted, below, scale, taken: vec![0; fine / 64], fine_scale };
        for at in 0..energies.sorted.len() {
            let cell = energies.fine_cell(energies.sorted[at]);
            energies.taken[cell / 64] |= 1 << (cell % 64);
        }
        energies
    }

    /// The fine cell of an energy, or the one at its end of all.
    fn fine_cell(&self, w: f64) -> usize {
        let first = self.sorted.first().copied().unwrap_or_default();
        (((w - first) * self.fine_scale).max(0.0) as usize).min(64 * self.taken.len() - 1)
    }

    /// Whether there are any within, ends included.
    pub fn any(&self, low: f64, high: f64) -> bool {
        let (begin, end) = (self.fine_cell(low), self.fine_cell(high));
        let is_taken = |cell: usize| self.taken[cell / 64] >> (cell % 64) & 1 == 1;
        if begin <= end && end <= begin + 1 && !is_taken(begin) && !is_taken(end) {
            return false;
        }
        !self.within(low, high).is_empty()
    }

    /// All, ascending, each once.
    pub fn all(&self) -> &[f64] {
        &self.sorted
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Those within, ends included.
    pub fn within(&self, low: f64, high: f64) -> &[f64] {
        let (Some(&first), Some(&last)) = (self.sorted.first(), self.sorted.last()) else {
            return &[];
        };
        // Written so that a bound that is not a number holds nothing.
        if !(low <= high && low <= last && high >= first) {
            return &[];
        }
        let cells = self.below.len() - 1;
        let cell = |w: f64| (((w - first) * self.scale).max(0.0) as usize).min(cells - 1);
        let begin = self.below[cell(low)] as usize;
        let end = match cell(high) + 1 {
            last if last == cells => self.sorted.len(),
            cell => self.below[cell] as usize,
        };
        let cells = &self.sorted[begin..end];
        let begin = cells.partition_point(|&w| w < low);
        let end = cells.partition_point(|&w| w <= high);
        &cells[begin..end.max(begin)]
    }

    /// Whether this one is among them.
    pub fn contains(&self, w: f64) -> bool {
        self.any(w, w)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_hold_what_they_hold(
            all in prop::collection::vec(-20.0..20.0f64, 0..60),
            low in -25.0..25.0f64,
            width in prop_oneof![Just(0.0), 0.0..1e-3f64, -1.0..30.0f64],
        ) {
            let energies = Lookup::of(all.iter().copied());
            for low in all.iter().copied().chain([low]) {
                let high = low + width;
                let mut held: Vec<f64> =
                    all.iter().copied().filter(|w| (low..=high).contains(w)).collect();
                held.sort_by(f64::total_cmp);
                held.dedup();
                prop_assert_eq!(energies.any(low, high), !held.is_empty());
                prop_assert_eq!(energies.within(low, high), &held[..]);
            }
            prop_assert!(!energies.any(f64::NAN, 1.0) && !energies.any(0.0, f64::NAN));
        }
    }
}
