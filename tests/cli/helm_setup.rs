//! `rollgate helm setup` against a stand-in that answers as Helm does; the real Helm is asked in the end-to-end tests.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;

use super::{Program, ran};

/// A program that knows the two questions that setup asks.
fn helm(program: &Program, name: &str, version: &str, plugins: &str) -> String {
    let text = format!("#!/bin/sh\ncase \"$1\" in version) printf '{version}';; env) echo '{plugins}';; esac\n");
    let file = program.file(name, &text);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("a script");
    file.display().to_string()
}

#[test]
fn helm_3_gets_only_files_that_it_can_load() {
    let program = Program::new();
    let plugins = program.home().join("plugins").display().to_string();
    let helm = helm(&program, "helm3", "v3.22.0", &plugins);
    let ran = program.run(&["helm", "setup", "--helm", &helm], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for folder in std::fs::read_dir(&plugins).expect("the plugin folder") {
        let file = folder.expect("an entry").path().join("plugin.yaml");
        let text = std::fs::read_to_string(&file).expect("a plugin file");
        assert!(!text.contains("apiVersion:"), "{} would break Helm 3", file.display());
    }
    assert!(!program.home().join("plugins/rollgate-post-render").exists());
    assert!(program.home().join("plugins/rollgate/bin/rollgate").exists());
}

#[test]
fn the_helm_4_plugin_keeps_away_from_a_folder_that_a_helm_3_reads() {
    let program = Program::new();
    let plugins = program.home().join("plugins").display().to_string();
    let helm4 = helm(&program, "helm4", "v4.3.1", &plugins);
    helm(&program, "helm", "v3.22.0", &plugins);
    let mut command = program.command();
    command.env("PATH", program.home()).args(["helm", "setup", "--helm", &helm4]);
    let ran = ran(command, b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!program.home().join("plugins/rollgate-post-render").exists());
    assert!(program.home().join(".local/share/rollgate/helm4-plugins/rollgate-post-render/plugin.yaml").exists());
    assert!(ran.stdout.contains("HELM_PLUGINS="), "{}", ran.stdout);
}

#[test]
fn the_helm_4_plugin_lies_beside_the_others_where_it_does_no_harm() {
    let program = Program::new();
    let plugins = program.home().join("plugins").display().to_string();
    let helm4 = helm(&program, "helm4", "v4.3.1", &plugins);
    let ran = program.run(&["helm", "setup", "--helm", &helm4], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(program.home().join("plugins/rollgate-post-render/plugin.yaml").exists());
}
