//! Links the plugins for one Helm. The Helm 4 post-renderer never goes where a Helm 3 on this machine looks:
//! Helm 3 loads no plugin at all from a folder that holds a file of the new style.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Helm;
use crate::cli::{Outside, Stop};
use crate::exit::Exit;
use crate::model::quoted;

/// Folder name and plugin file of the plugins that both majors load.
const SHARED: [(&str, &str); 2] = [
    ("rollgate", include_str!("../../../plugin.yaml")),
    ("rollgate-values", include_str!("../../../plugins/getter/plugin.yaml")),
];

/// The plugin that only Helm 4 loads.
pub(super) const POST_RENDERER: (&str, &str) =
    ("rollgate-post-render", include_str!("../../../plugins/helm4-post-renderer/plugin.yaml"));

pub(super) fn run(helm: &Path, dry_run: bool, path: bool, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let helm = Helm::ask(helm).map_err(Stop::usage)?;
    if path {
        let path = if helm.major >= 4 { search_path(&helm).map_err(Stop::usage)? } else { joined(&[shared(&helm)]) };
        writeln!(outside.out, "{path}").map_err(Stop::internal)?;
        return Ok(Exit::Allow);
    }
    let program = std::env::current_exe().context("cannot find the path of this program").map_err(Stop::internal)?;
    let mut lines = vec![format!("Helm {} ({})", helm.version, helm.binary.display())];
    for (name, text) in SHARED {
        let folder = shared(&helm).join(name);
        if !dry_run {
            install(&folder, text, &program).map_err(Stop::internal)?;
        }
        lines.push(format!("linked {name} in {}", folder.display()));
    }
    if helm.major >= 4 {
        lines.extend(post_renderer(&helm, &program, dry_run).map_err(Stop::internal)?);
    } else {
        lines.push(format!("use: {} upgrade ... --post-renderer {}", helm.called(), program.display()));
        lines.push("     --post-renderer-args post-render --post-renderer-args --policy=rollgate.yaml".to_owned());
    }
    lines.push(format!(
        "or:  {} rollgate upgrade ... --policy rollgate.yaml, with our exit codes; also install, template, rollback",
        helm.called()
    ));
    if dry_run {
        lines.push("nothing was linked: --dry-run".to_owned());
    }
    writeln!(outside.out, "{}", lines.join("\n")).map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// The folder of plugins that is the user's, whichever stand beside it.
fn shared(helm: &Helm) -> PathBuf {
    let own = own_folder().unwrap_or_default();
    let theirs = helm.plugins.iter().find(|folder| **folder != own);
    theirs.or(helm.plugins.first()).cloned().unwrap_or_default()
}

/// The folder of the Helm 4 plugin where it cannot lie beside the others.
fn own_folder() -> anyhow::Result<PathBuf> {
    Ok(data_folder()?.join("rollgate/helm4-plugins"))
}

/// What `HELM_PLUGINS` has to be for this Helm 4 to find the post-renderer, and the user's other plugins beside it.
pub(super) fn search_path(helm: &Helm) -> anyhow::Result<String> {
    let has = |folder: &PathBuf| folder.join(POST_RENDERER.0).join("plugin.yaml").is_file();
    if helm.plugins.iter().any(has) {
        return Ok(joined(&helm.plugins));
    }
    let own = own_folder()?;
    anyhow::ensure!(has(&own), "no {} was linked for this Helm; run `rollgate helm setup` once", POST_RENDERER.0);
    Ok(joined(&[&[own][..], &helm.plugins].concat()))
}

/// Folders as a search path, as Helm takes them apart (Go's `filepath.SplitList`).
fn joined(folders: &[PathBuf]) -> String {
    std::env::join_paths(folders).map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned())
}

/// Puts the Helm 4 plugin beside the others, or into a folder of its own where a Helm 3 shares theirs.
fn post_renderer(helm: &Helm, program: &Path, dry_run: bool) -> anyhow::Result<Vec<String>> {
    let (name, text) = POST_RENDERER;
    let theirs = shared(helm);
    let sharing = helm3_that_reads(&theirs);
    let parent = if sharing.is_none() { theirs.clone() } else { own_folder()? };
    let folder = parent.join(name);
    if !dry_run {
        install(&folder, text, program)?;
    }
    let mut lines = vec![format!("linked {name} in {}", folder.display())];
    if let Some(helm3) = sharing {
        let path = joined(&[parent, theirs.clone()]);
        lines.push(format!(
            "{} reads {} too and would load no plugin at all beside this one, so it has a folder of its own:",
            helm3.display(),
            theirs.display()
        ));
        lines.push(format!("use: HELM_PLUGINS={} {} upgrade ... --post-renderer {name}", quoted(&path), helm.called()));
        lines.push("     --post-renderer-args --policy=rollgate.yaml".to_owned());
        // helm `pkg/getter/plugingetter.go` takes the variable for one folder, 4.0 to 4.3.
        lines.push(format!(
            "     (with two folders Helm 4 finds no plugin that serves values: there say rollgate values -f FILE | {} ... -f -)",
            helm.called()
        ));
    } else {
        lines.push(format!("use: {} upgrade ... --post-renderer {name}", helm.called()));
        lines.push("     --post-renderer-args --policy=rollgate.yaml".to_owned());
    }
    Ok(lines)
}

/// A Helm 3 on the search path that loads plugins from this folder.
fn helm3_that_reads(plugins: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["helm", "helm3", "helm-3", "helm3.exe"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .filter(|candidate| candidate.is_file())
        .filter_map(|candidate| Helm::ask(&candidate).ok())
        .find(|helm| helm.major == 3 && helm.plugins.iter().any(|folder| folder == plugins))
        .map(|helm| helm.binary)
}

/// The folder for data of the user's programs.
fn data_folder() -> anyhow::Result<PathBuf> {
    if let Some(data) = std::env::var_os("XDG_DATA_HOME").filter(|data| !data.is_empty()) {
        return Ok(data.into());
    }
    let home = std::env::var_os("HOME").context("HOME is not set; set XDG_DATA_HOME")?;
    Ok(PathBuf::from(home).join(".local/share"))
}

/// Writes the plugin file and a link to this program.
fn install(folder: &Path, text: &str, program: &Path) -> anyhow::Result<()> {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
    let link = bin.join("rollgate");
    match std::fs::remove_file(&link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot replace {}", link.display()));
        }
        _ => {}
    }
    link_to(program, &link).with_context(|| format!("cannot link {}", link.display()))?;
    let file = folder.join("plugin.yaml");
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(unix)]
fn link_to(program: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

#[cfg(not(unix))]
fn link_to(program: &Path, link: &Path) -> std::io::Result<()> {
    std::fs::copy(program, link).map(drop)
}
