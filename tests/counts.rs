//! Operations, counted by running the source: by hand, and of a sample.

mod common;

use common::{Kind, Make, make, repository};
use gpp::catalogue::{self, Kernel};
use gpp::experiments::counting;
use gpp::kernels::versions::ALL;
use gpp::problem::grid::{Grid, OnGrid};
use gpp::problem::{Matrices, Origin, Problem, Source};
use num_complex::Complex64;

/// One term of one branch, counted: its operations and comparisons in the source of v0 and v3.
#[test]
fn operations_of_one_term_by_hand() {
    let count = |id: &str, kind: Kind| {
        let version = ALL.iter().find(|v| v.id() == id).unwrap();
        let made = Make { nbands: 1, ngpown: 1, ncouls: 1, nw: 1, kind, seed: 3 };
        // No cutoff: w > 0.
        let problem = common::changed(make(made), |_, wx, _| wx[0] = 1.0).unwrap();
        counting::count(Kernel::Gpu(version), &problem).unwrap()
    };
    // M, ω̃² and Ω²: three complex products, each 2 mul and 2 FMA.
    // Update: vcoul·occ and vcoul·½ (2 mul), two scalings (4 mul), two products (4 mul, 4 FMA less
    // the 2 that are theirs), four sums.
    let shared = [4.0, 3.0 * 2.0 + 2.0 + 4.0 + 4.0, 3.0 * 2.0 + 4.0];
    // |z|² is 1 mul and 1 FMA; a quotient of two complex numbers 3 mul, 3 FMA and 2 divisions.
    let first = count("v0", Kind::First);
    let [add, mul, fma] = shared;
    // wdiff 1 add; |wdiff|², |delw|²; two quotients; delw·eps; w² − ω̃² (1 add, 1 mul, 1 FMA); |eps|,
    // sexcut·|eps|.
    assert_eq!(first.add, add + 2.0);
    assert_eq!(first.mul, mul + 2.0 + 2.0 * 3.0 + 2.0 + 1.0 + 1.0 + 1.0);
    assert_eq!(first.fma, fma + 2.0 + 2.0 * 3.0 + 2.0 + 1.0 + 1.0);
    assert_eq!((first.div, first.rcp, first.sqrt), (4.0, 0.0, 1.0));
    // wdiffr > limittwo, delwr < limitone, w < 0.
    assert_eq!(first.compare, 3.0);

    let neither = count("v0", Kind::Neither);
    assert_eq!((neither.div, neither.sqrt, neither.compare), (2.0, 1.0, 3.0));
    let second = count("v0", Kind::Second);
    assert_eq!((second.div, second.sqrt, second.compare), (4.0, 1.0, 3.0));

    for (kind, reciprocals) in [(Kind::First, 2.0), (Kind::Second, 2.0), (Kind::Neither, 1.0)] {
        let v3 = count("v3", kind);
        assert_eq!((v3.div, v3.rcp, v3.sqrt), (0.0, reciprocals, 0.0), "{kind:?}");
    }
}

/// A slab of which nothing contributes has no pairs to sort.
#[test]
fn nothing_is_counted_where_nothing_contributes() {
    let made = Make { nbands: 5, ngpown: 3, ncouls: 7, nw: 2, kind: Kind::Real, seed: 3 };
    let whole = make(made);
    let (wtilde, eps) = (whole.wtilde().to_vec(), vec![Complex64::ZERO; whole.eps().len()]);
    let (aqsn, aqsm_local) = (whole.aqsn().to_vec(), whole.aqsm_local().to_vec());
    let matrices = Matrices { wtilde, eps, aqsn, aqsm_local };
    let empty = Problem::new("empty", Origin::Made, whole.header().clone(), matrices).unwrap();
    for id in ["sigma:cells", "sigma:blocks"] {
        let kernel = catalogue::find(id).unwrap().kernel;
        assert_eq!(counting::count(kernel, &empty).unwrap().flops(), 0.0, "{id}");
    }
}

#[test]
fn counts_of_a_sample_are_those_of_the_whole() {
    let system = gpp::problem::systems::find("demo").unwrap();
    let problem = gpp::problem::synthesis::synthesise(system, 214, common::QUIET).unwrap();
    let made = Make { nbands: 96, ngpown: 40, ncouls: 300, nw: 2, kind: Kind::First, seed: 1 };
    let (sampled, whole) = (counting::count(Kernel::Gpu(ALL[8]), &problem).unwrap(), make(made));
    assert!(sampled.terms < problem.terms());
    let whole = counting::count(Kernel::Gpu(ALL[8]), &whole).unwrap();
    // Nearly all terms take the first branch, and what a thread does once for its bands is spread
    // over as many.
    assert!((sampled.flops() / whole.flops() - 1.0).abs() < 0.02, "{sampled:?} {whole:?}");
}

/// The first run of all needs those of the processor's journey on this system. GPP_UPDATE_SNAPSHOTS writes
/// them.
#[test]
fn kept_counts_are_those_that_are_counted() {
    let path = repository("data/counts.json");
    let counted: counting::Kept = ["demo"]
        .map(|name| {
            let system = gpp::problem::systems::find(name).unwrap();
            let problem = gpp::problem::synthesis::synthesise(system, 214, common::QUIET).unwrap();
            let own = catalogue::journey("cpu").unwrap().versions();
            let count = |kernel| counting::count(kernel, &problem).unwrap().flops();
            let of =
                own.into_iter().map(|version| (version.id().to_string(), count(version.kernel)));
            (name.to_string(), of.collect())
        })
        .into();
    if std::env::var_os("GPP_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, gpp::record::plain(&counted) + "\n").unwrap();
    }
    let kept: counting::Kept =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let ids = |counts: &counting::Kept| -> Vec<String> {
        let of = |(system, of): (&String, &std::collections::BTreeMap<String, f64>)| {
            of.keys().map(|id| format!("{id} of {system}")).collect::<Vec<_>>()
        };
        counts.iter().flat_map(of).collect()
    };
    assert_eq!(ids(&kept), ids(&counted), "GPP_UPDATE_SNAPSHOTS=1 writes {}", path.display());
    for (system, versions) in &counted {
        for (id, counted) in versions {
            let kept = kept[system][id];
            assert!(
                (kept - counted).abs() <= 1e-12 * counted,
                "{id} of {system}: {kept}, {counted}"
            );
        }
    }
}

#[test]
fn counts_are_kept_of_a_systems_own_energies_and_seed() {
    let system = gpp::problem::systems::find("demo").unwrap();
    let cpu = catalogue::find("cpu:paired").unwrap().kernel;
    let of = |seed| gpp::problem::synthesis::synthesise(system, seed, common::QUIET).unwrap();
    let problem = of(214);
    assert!(counting::kept(cpu, &problem).is_some_and(|count| count > 1.0));
    assert_eq!(counting::kept(Kernel::Gpu(ALL[8]), &problem), None);
    assert_eq!(counting::kept(cpu, &of(215)), None);
    let more = OnGrid::new(Box::new(problem), Grid::Count(3)).load().unwrap();
    assert_eq!(counting::kept(cpu, &more), None);
}
