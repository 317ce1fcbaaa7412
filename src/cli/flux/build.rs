//! What kustomize makes of a folder, as kustomize-controller has it built: every folder goes through kustomize, also one that is no
//! kustomization itself.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::walk::Walk;
use crate::kinds::fields::list;
use crate::session::flux::render;
use crate::session::process::Ended;
use crate::session::{Unobserved, input, reach, source, tool};
use crate::tree::{Map, Value, json};
use crate::world::files;

/// What of a folder counts.
pub(super) struct Part {
    bytes: Vec<u8>,
    /// Whether kustomize printed it.
    is_built: bool,
}

impl Walk<'_> {
    /// The manifests of a folder, as kustomize-controller puts them together: what is a kustomization is built, and where the folder
    /// is none every manifest below it counts (fluxcd/pkg `kustomize/kustomize_generator.go`).
    pub(super) fn parts(&self, path: &Path, there: &Path) -> anyhow::Result<Vec<Part>> {
        let file = |path: &Path, there: &Path| Ok(Part { bytes: self.file(path, there)?, is_built: false });
        let built = |path: &Path, there: &Path| Ok(Part { bytes: self.build(path, there)?, is_built: true });
        if there.is_file() {
            return file(path, there).map(|part| vec![part]);
        }
        if source::is_kustomization(there) {
            return built(path, there).map(|part| vec![part]);
        }
        let mut out = Vec::new();
        let mut done: Vec<PathBuf> = Vec::new();
        for found in files::manifests(there)? {
            if found.extension().is_none_or(|extension| extension != "yaml" && extension != "yml")
                || done.iter().any(|folder| found.starts_with(folder))
            {
                continue;
            }
            let below = found.strip_prefix(there).unwrap_or(&found);
            let folders = below.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            let outer: Vec<&Path> = folders.collect();
            match outer.into_iter().rev().find(|folder| source::is_kustomization(&there.join(folder))) {
                Some(folder) => {
                    out.push(built(&path.join(folder), &there.join(folder))?);
                    done.push(there.join(folder));
                }
                None => out.push(file(&path.join(below), &found)?),
            }
        }
        Ok(out)
    }

    fn file(&self, path: &Path, there: &Path) -> anyhow::Result<Vec<u8>> {
        self.tree.keeps(there, path)?;
        let mut bytes = b"---\n".to_vec();
        bytes.extend(std::fs::read(there).with_context(|| format!("cannot read {}", path.display()))?);
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// What kustomize builds of a folder. Flux lets it load files from beside the folder (fluxcd/pkg
    /// `kustomize/kustomize_generator.go`, `Build`: `LoadRestrictionsNone`); here only where none of them is outside of the repository.
    fn build(&self, path: &Path, there: &Path) -> anyhow::Result<Vec<u8>> {
        self.tree.keeps(there, path)?;
        let run = |more: &[&str]| {
            let (mut command, verb) = source::kustomize(self.tools.kustomize.as_deref());
            command.arg(there).args(more);
            let what = format!("{verb} {}", path.display());
            let ended = tool::ran(command, self.tree.folder, (&what, source::NO_KUSTOMIZE), &Unobserved::default())?;
            anyhow::Ok((what, ended))
        };
        let (mut what, mut ended) = run(&[])?;
        let is_restricted = !ended.status.success() && memchr::memmem::find(&ended.stderr, b"security; file").is_some();
        let inside = there.strip_prefix(self.root).ok().filter(|_| is_restricted);
        if inside.is_some_and(|folder| reach::stays_inside(self.root, folder)) {
            (what, ended) = run(&["--load-restrictor", "LoadRestrictionsNone"])?;
        }
        let Ended { status, stdout, stderr } = ended;
        if !status.success() {
            bail!("{what} failed ({status}): {}", tool::said(&stderr));
        }
        Ok([b"---\n", stdout.as_slice(), b"\n"].concat())
    }

    /// The objects of a folder as kustomize prints them (kustomize-controller `internal/controller/kustomization_controller.go`, `build`,
    /// v1.9.4): it reads `yes` and `01` otherwise than kubectl, and takes away comments and quotes before variables are filled in.
    pub(super) fn printed(&self, parts: Vec<Part>) -> anyhow::Result<Vec<u8>> {
        let plain = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"});
        if parts.iter().all(|part| part.is_built) {
            return Ok(parts.into_iter().flat_map(|part| part.bytes).collect());
        }
        self.over(parts, plain, &[])
    }

    /// The fields of a Kustomization that change what its folder holds, by a kustomization over it.
    pub(super) fn layered(&self, spec: &Map, value: &Value, parts: Vec<Part>) -> anyhow::Result<Vec<u8>> {
        let is_set = |field: &str| match spec.get(field) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        };
        let fields = [
            ("targetNamespace", "namespace"),
            ("namePrefix", "namePrefix"),
            ("nameSuffix", "nameSuffix"),
            ("images", "images"),
            ("patches", "patches"),
        ];
        if !fields.iter().any(|(field, _)| is_set(field)) && !is_set("commonMetadata") {
            return self.printed(parts);
        }
        let mut kustomization = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"});
        for (field, name) in fields.into_iter().filter(|(field, _)| is_set(field)) {
            kustomization[name] = spec[field].clone();
        }
        if list(value, "/spec/patches").any(|patch| patch.get("path").is_some()) {
            bail!("a patch of it names a file, which Flux does not read");
        }
        let metadata = |kind: &str, field: &str| {
            let map = value.pointer(&format!("/spec/commonMetadata/{field}")).filter(|map| map.is_object())?;
            let one = json!({"apiVersion": "builtin", "kind": kind, "metadata": {"name": field}, field: map,
                "fieldSpecs": [{"path": format!("metadata/{field}"), "create": true}]});
            Some((format!("{field}.json"), one.to_string().into_bytes()))
        };
        let added: Vec<_> = [metadata("LabelTransformer", "labels"), metadata("AnnotationsTransformer", "annotations")]
            .into_iter()
            .flatten()
            .collect();
        kustomization["transformers"] = added.iter().map(|(name, _)| json!(name)).collect();
        self.over(parts, kustomization, &added)
    }

    /// What kustomize builds of a kustomization over parts.
    fn over(&self, parts: Vec<Part>, mut over: Value, added: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<u8>> {
        let mut files = Vec::new();
        for (at, part) in parts.into_iter().filter(|part| !input::is_empty(&part.bytes)).enumerate() {
            files.push((format!("part-{at}.yaml"), part.bytes));
        }
        if files.is_empty() {
            return Ok(Vec::new());
        }
        over["resources"] = files.iter().map(|(name, _)| json!(name)).collect();
        let folder = self.tools.scratch.folder()?;
        for (name, bytes) in files.iter().chain(added) {
            render::write(&folder.path().join(name), bytes)?;
        }
        render::write(&folder.path().join("kustomization.yaml"), over.to_string().as_bytes())?;
        let (mut command, verb) = source::kustomize(self.tools.kustomize.as_deref());
        command.arg(folder.path());
        let ended = tool::ran(command, folder.path(), (&verb, source::NO_KUSTOMIZE), &Unobserved::default())?;
        if !ended.status.success() {
            bail!("{verb} failed ({}): {}", ended.status, tool::said(&ended.stderr));
        }
        Ok(ended.stdout)
    }
}
