//! Ranks that are threads of this process.

use std::sync::{Arc, Barrier, Mutex};

use gpp::ranks::Ranks;

struct Group {
    size: usize,
    barrier: Barrier,
    sent: Mutex<Vec<Vec<u8>>>,
}

pub struct OnThread {
    rank: usize,
    group: Arc<Group>,
}

pub fn on_each(size: usize, work: impl Fn(OnThread) + Sync) {
    let (barrier, sent) = (Barrier::new(size), Mutex::new(vec![Vec::new(); size]));
    let (group, work) = (Arc::new(Group { size, barrier, sent }), &work);
    std::thread::scope(|scope| {
        for rank in 0..size {
            let group = group.clone();
            scope.spawn(move || work(OnThread { rank, group }));
        }
    });
}

impl OnThread {
    /// One whose others have what it has, and need not be there.
    pub fn like_others(rank: usize, size: usize) -> OnThread {
        let (barrier, sent) = (Barrier::new(1), Mutex::default());
        OnThread { rank, group: Arc::new(Group { size, barrier, sent }) }
    }

    fn all(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if self.group.sent.lock().unwrap().is_empty() {
            return vec![bytes.to_vec(); self.group.size];
        }
        self.group.sent.lock().unwrap()[self.rank] = bytes.to_vec();
        self.barrier();
        let all = self.group.sent.lock().unwrap().clone();
        self.barrier();
        all
    }
}

impl Ranks for OnThread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size
    }

    fn local(&self) -> (usize, usize) {
        (self.rank, self.group.size)
    }

    fn barrier(&self) {
        self.group.barrier.wait();
    }

    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        self.is_root().then_some(self.all(bytes))
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.all(&bytes).swap_remove(0)
    }

    fn abort(&self, _: u8) {
        panic!("no rank fails")
    }
}
