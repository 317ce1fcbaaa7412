//! What a view says of objects that are not in it.

use jiff::Timestamp;

use super::*;
use crate::world::Host;
use crate::world::{Absent, files};

#[test]
fn an_object_that_is_absent_says_nothing_of_its_namesakes() {
    let key = |api: &str, namespace: &str| Key::new(api, "OpenStackMachineTemplate", Some(namespace), "md-0");
    let absent = key("infrastructure.cluster.x-k8s.io/v1beta1", "a");
    let mut world = files::nothing(&Host::default(), Timestamp::UNIX_EPOCH);
    world.absent.push(Absent { what: "kind Cluster.k0smotron.io".to_owned(), object: None });
    world.absent.push(Absent { what: absent.to_string(), object: Some(absent.clone()) });
    let view = world.view();
    assert!(matches!(view.get(&absent), Presence::Absent));
    for other in [
        key("infrastructure.cluster.x-k8s.io/v1beta1", "b"),
        key("example.com/v1", "a"),
        Key::new("cluster.x-k8s.io/v1beta1", "Cluster", Some("a"), "c"),
    ] {
        assert!(matches!(view.get(&other), Presence::Unread), "{other}");
    }
}
