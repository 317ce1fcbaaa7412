//! What a chart hears of the cluster, by whom and how it is rendered.

/// What a chart hears of the cluster as it is rendered, or need not hear as who writes it does not either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Its objects (`lookup`).
    pub objects: bool,
    /// What its API server serves.
    pub apis: bool,
    /// The version of its API server.
    pub version: bool,
    /// Which revision of the release it becomes.
    pub revision: bool,
    /// What time it is when it is written, or nothing is there that could differ by it.
    pub time: bool,
    /// No address, as nobody lets it look for one, or nothing is there that could differ by it.
    pub addresses: bool,
}

impl Heard {
    /// Whether there is nothing that it does not hear of.
    pub(crate) const fn is_all(self) -> bool {
        self.objects && self.apis && self.version && self.revision && self.time && self.addresses
    }

    /// What Helm is told by its arguments (helm `pkg/action/action.go`, `renderResources`, 3.13 on: with `--dry-run=server`, and only then,
    /// `lookup` finds what is there; `pkg/cmd/template.go`: what is served is only what `--api-versions` says; `pkg/engine/engine.go`: without
    /// `--enable-dns` no name has an address).
    pub(crate) fn by(args: &[String]) -> Self {
        let has = |of: &dyn Fn(&str) -> bool| args.iter().any(|argument| of(argument));
        let has_two = |of: &dyn Fn(&str, &str) -> bool| args.windows(2).any(|pair| of(&pair[0], &pair[1]));
        Self {
            objects: has(&|one| one == "--dry-run=server")
                || has_two(&|option, value| option == "--dry-run" && value == "server"),
            apis: has(&|one| one.starts_with("--api-versions="))
                || has_two(&|option, _| ["--api-versions", "-a"].contains(&option)),
            version: has(&|one| one == "--kube-version" || one.starts_with("--kube-version=")),
            revision: false,
            time: false,
            addresses: !has(&|one| one == "--enable-dns" || one.starts_with("--enable-dns=")),
        }
    }
}
