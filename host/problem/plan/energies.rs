//! Energies to look up by range.

/// Some energies, sorted.
pub struct Energies {
    sorted: Vec<f64>,
    /// How many lie below each of evenly spaced bounds, from the first energy to the last.
    below: Vec<u32>,
    scale: f64,
}

impl Energies {
    const CELLS: usize = 1 << 14;

    /// From finite ones in any order, or none.
    pub fn of(energies: impl IntoIterator<Item = f64>) -> Energies {
        let mut sorted: Vec<f64> = energies.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let (first, last) = match sorted[..] {
            [] => (0.0, 0.0),
            [only] => (only, only),
            [first, .., last] => (first, last),
        };
        // Finite where all are the same.
        let scale = Self::CELLS as f64 / (last - first).max(1e-300);
        let below = (0..=Self::CELLS)
            .map(|cell| sorted.partition_point(|w| ((w - first) * scale) < cell as f64) as u32)
            .collect();
        Energies { sorted, below, scale }
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
        if !(low <= last && high >= first) {
            return &[];
        }
        let cell = |w: f64| (((w - first) * self.scale).max(0.0) as usize).min(Self::CELLS - 1);
        let begin = self.below[cell(low)] as usize;
        let end = match cell(high) + 1 {
            Self::CELLS => self.sorted.len(),
            cell => self.below[cell] as usize,
        };
        let cells = &self.sorted[begin..end];
        let begin = cells.partition_point(|&w| w < low);
        let end = cells.partition_point(|&w| w <= high);
        &cells[begin..end.max(begin)]
    }

    /// Whether this one is among them.
    pub fn contains(&self, w: f64) -> bool {
        !self.within(w, w).is_empty()
    }
}
