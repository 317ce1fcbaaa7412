//! Reads one kubeconfig as kubectl does: YAML as Kubernetes reads it, and files that it names start from its own folder
//! (client-go `tools/clientcmd/loader.go`, LoadFromFile and ResolveLocalPaths, v0.33).

use std::path::{Path, PathBuf};

use kube::config::Kubeconfig;

use crate::yaml;

/// The kubeconfig in a file; nothing in it is quoted in an error, as it may be a credential.
pub(super) fn read(file: &Path) -> Result<Kubeconfig, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let mut read = parse(&bytes).ok_or("it is not YAML that kubectl reads")?;
    if let Some(folder) = file.parent() {
        references(&mut read).for_each(|named| from(folder, named));
    }
    Ok(read)
}

/// What the text says, up to its first `---`; an empty one says nothing.
pub(super) fn parse(bytes: &[u8]) -> Option<Kubeconfig> {
    let value = yaml::read_first(bytes, 0, 1).and_then(|tree| tree.to_json()).ok()?;
    if value.is_null() { Some(Kubeconfig::default()) } else { crate::tree::from_value(value).ok() }
}

/// The files that it names, and the programs that it names by a path.
fn references(read: &mut Kubeconfig) -> impl Iterator<Item = &mut String> {
    let clusters = read.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
    let authorities = clusters.filter_map(|cluster| cluster.certificate_authority.as_mut());
    let users = read.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut());
    let of_users = users.flat_map(|user| {
        let program = user.exec.as_mut().and_then(|exec| exec.command.as_mut());
        let program = program.filter(|command| command.contains(std::path::MAIN_SEPARATOR));
        let files = [user.client_certificate.as_mut(), user.client_key.as_mut(), user.token_file.as_mut()];
        files.into_iter().chain([program]).flatten()
    });
    authorities.chain(of_users).filter(|named| !named.is_empty())
}

/// A path as it is from a folder; an absolute one stays.
fn from(folder: &Path, named: &mut String) {
    let path: PathBuf = folder.join(&*named);
    if let Some(path) = path.to_str() {
        path.clone_into(named);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: 'https://a', certificate-authority: ca.crt}\n\
        users:\n- name: u\n  user:\n    client-certificate: /etc/u.crt\n    client-key: keys/u.key\n\
        - name: p\n  user:\n    exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, interactiveMode: Never}\n\
        - name: q\n  user:\n    exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}\n";

    #[test]
    fn files_start_from_the_folder_of_the_kubeconfig_and_programs_of_the_path_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config");
        std::fs::write(&file, TEXT).expect("written");
        let mut read = read(&file).expect("a kubeconfig");
        let here = |name: &str| folder.path().join(name).display().to_string();
        let named: Vec<String> = references(&mut read).map(|named| named.clone()).collect();
        assert_eq!(named, [here("ca.crt"), "/etc/u.crt".to_owned(), here("keys/u.key"), here("bin/login")]);
        assert_eq!(
            read.auth_infos[2].auth_info.as_ref().and_then(|user| user.exec.as_ref()?.command.as_deref()),
            Some("aws")
        );
    }

    #[test]
    fn what_kubectl_reads_is_read_and_nothing_of_what_it_refuses_is_quoted() {
        for text in [
            "",
            "# nothing\n",
            "\u{feff}apiVersion: v1\nkind: Config\n",
            "clusters: null\nusers: []\ncurrent-context: ''\n",
            "{}",
            "kind: Config\n---\nkind: Config\n",
        ] {
            assert!(parse(text.as_bytes()).is_some(), "{text:?}");
        }
        for text in ["users: [hunter2]\n", "users: [\n", "users:\n- name: u\n  user: {token: [hunter2]}\n"] {
            assert!(parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
