//! What the webhooks of the vSphere and AWS providers compare as a whole: contents of templates, specs of Machines.
//! Read beside `internal/webhooks` of cluster-api-provider-vsphere 1.14 (`vsphere{machine,machinetemplate,clustertemplate,
//! failuredomain}.go` and those in `vmware`) and `webhooks/aws{machine,machinetemplate,clustertemplate}_webhook.go` of
//! cluster-api-provider-aws 2.13. Whether an empty value differs from none is what their Go types say.

use serde_json::{Value, json};

use crate::judge::admission::fixed_template::durations;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::object::{Key, Path};
use crate::rules::Versions;

/// What is compared of one kind.
pub(crate) struct Fixed {
    /// Id of the refusal.
    pub(crate) rule: &'static str,
    /// Keys down to what is compared.
    at: &'static [&'static str],
    /// Places below it that may change.
    free: &'static [&'static str],
    /// The only places below it that may not change; all others where none is named.
    only: &'static [&'static str],
    /// What Go's types keep apart.
    style: Style,
    /// First version of the provider that compares.
    since: (&'static str, u64, u64),
}

/// Pointers of the vSphere types to lists of fields, and texts; lists and maps are pointers of a kind in Go.
const VSPHERE: Style = Style {
    keep_empty: &[
        "additionalDisksGiB",
        "addressesFromPools",
        "capacity",
        "clusterModules",
        "customVMXKeys",
        "dataDisks",
        "devices",
        "dhcp4Overrides",
        "dhcp6Overrides",
        "failureDomainSelector",
        "identityRef",
        "interfaces",
        "ipAddrs",
        "matchExpressions",
        "matchLabels",
        "nameservers",
        "namingStrategy",
        "pciDevices",
        "routes",
        "searchDomains",
        "secondary",
        "tagIDs",
        "volumes",
    ],
    drop_zero: &[
        "dhcp4",
        "dhcp6",
        "disableClusterModule",
        "diskGiB",
        "memoryMiB",
        "metric",
        "numCPUs",
        "numCoresPerSocket",
        "port",
        "sizeGiB",
        "skipIPAllocation",
    ],
    keep_blank: &["apiGroup", "failureDomain", "hostname", "providerID", "template", "useDomains", "useRoutes"],
};

/// The same where the webhook that fills in writes the object anew: empty lists and maps are lost there.
const VSPHERE_WRITTEN: Style = Style {
    keep_empty: &["dhcp4Overrides", "dhcp6Overrides", "hosts", "namingStrategy"],
    drop_zero: VSPHERE.drop_zero,
    keep_blank: &[
        "apiGroup",
        "computeCluster",
        "failureDomain",
        "hostname",
        "providerID",
        "template",
        "useDomains",
        "useRoutes",
    ],
};

/// A template of AWS Machines.
const AWS_TEMPLATE: Style = Style {
    keep_empty: &[
        "additionalSecurityGroups",
        "additionalTags",
        "certificateAuthorities",
        "dynamicHostAllocation",
        "elasticIpPool",
        "filters",
        "ignition",
        "instanceMetadataOptions",
        "networkInterfaces",
        "noProxy",
        "nonRootVolumes",
        "privateDnsName",
        "proxy",
        "rootVolume",
        "securityGroupOverrides",
        "spotMarketOptions",
        "subnet",
        "tags",
        "tls",
        "values",
    ],
    drop_zero: &[
        "httpPutResponseHopLimit",
        "insecureSkipSecretsManager",
        "iops",
        "placementGroupPartition",
        "secretCount",
        "size",
    ],
    keep_blank: AWS_TEXTS,
};

/// A Machine of AWS, which is compared as JSON: that has no empty lists and maps.
const AWS_MACHINE: Style = Style {
    keep_empty: &[
        "dynamicHostAllocation",
        "elasticIpPool",
        "ignition",
        "instanceMetadataOptions",
        "privateDnsName",
        "proxy",
        "rootVolume",
        "spotMarketOptions",
        "subnet",
        "tls",
    ],
    drop_zero: AWS_TEMPLATE.drop_zero,
    keep_blank: AWS_TEXTS,
};

/// Texts of an AWS Machine that are pointers in Go.
const AWS_TEXTS: &[&str] = &[
    "assignPrimaryIPv6",
    "capacityReservationId",
    "eksLookupType",
    "hostAffinity",
    "hostID",
    "hostnameType",
    "httpProxy",
    "httpsProxy",
    "id",
    "instanceID",
    "maxPrice",
    "providerID",
    "publicIpv4Pool",
    "publicIpv4PoolFallbackOrder",
    "sshKeyName",
];

/// A template of AWS clusters, labels and annotations included.
const AWS_CLUSTER: Style = Style {
    keep_empty: &[
        "additionalControlPlaneIngressRules",
        "additionalIAMRoles",
        "additionalListeners",
        "additionalNodeIngressRules",
        "additionalSecurityGroups",
        "additionalTags",
        "allowedCIDRBlocks",
        "annotations",
        "cidrBlocks",
        "cni",
        "cniIngressRules",
        "controlPlaneLoadBalancer",
        "elasticIpPool",
        "healthCheck",
        "identityRef",
        "ingressRules",
        "ipamPool",
        "ipv6",
        "ipv6CidrBlocks",
        "labels",
        "nodePortIngressRuleCidrBlocks",
        "nodesIAMInstanceProfiles",
        "s3Bucket",
        "secondaryCidrBlocks",
        "secondaryControlPlaneLoadBalancer",
        "securityGroupOverrides",
        "sourceSecurityGroupIds",
        "sourceSecurityGroupRoles",
        "subnets",
        "tags",
    ],
    drop_zero: &[
        "crossZoneLoadBalancing",
        "disableHostsRewrite",
        "disableIngressRules",
        "emptyRoutesDefaultVPCSecurityGroup",
        "enabled",
        "fromPort",
        "isIpv6",
        "isPublic",
        "natGatewaysIPsSource",
        "netmaskLength",
        "port",
        "preserveClientIP",
        "toPort",
    ],
    keep_blank: &[
        "availabilityZoneSelection",
        "carrierGatewayId",
        "dnsResolutionCheck",
        "egressOnlyInternetGatewayId",
        "healthCheckProtocol",
        "internetGatewayId",
        "name",
        "natGatewayId",
        "parentZoneName",
        "path",
        "privateDnsHostnameTypeOnLaunch",
        "publicIpv4Pool",
        "publicIpv4PoolFallbackOrder",
        "routeTableId",
        "scheme",
        "sshKeyName",
        "subnetSchema",
        "targetGroupIPType",
        "zoneType",
    ],
};

/// A node group or a Fargate profile.
const AWS_POOL: Style = Style {
    keep_empty: &["availabilityZones", "labels", "remoteAccess", "selectors", "sourceSecurityGroups", "subnetIDs"],
    drop_zero: &["public"],
    keep_blank: &["amiType", "availabilityZoneSubnetType", "sshKeyName"],
};

/// What is compared of a kind; `None` for one that is not compared here.
#[must_use]
pub(crate) fn of(key: &Key) -> Option<Fixed> {
    let content = &["spec", "template", "spec"];
    let template = |style, since| Fixed { rule: "template/content", at: content, free: &[], only: &[], style, since };
    let whole = |style, since| Fixed { at: &["spec"], ..template(style, since) };
    let (vsphere, aws) = (("vsphere", 0, 0), ("aws", 0, 0));
    let is_second = key.group == "vmware.infrastructure.cluster.x-k8s.io";
    if !is_second && key.group != "infrastructure.cluster.x-k8s.io" {
        return None;
    }
    Some(match (key.kind.as_str(), is_second) {
        ("VSphereMachineTemplate", false) => template(VSPHERE, vsphere),
        ("VSphereMachineTemplate", true) => template(VSPHERE, ("vsphere", 1, 14)),
        ("VSphereClusterTemplate", false) => template(VSPHERE, vsphere),
        ("VSphereFailureDomain", false) => whole(VSPHERE_WRITTEN, vsphere),
        ("VSphereMachine", false) => Fixed {
            rule: "capv/rejected",
            free: &[
                "providerID",
                "powerOffMode",
                "guestSoftPowerOffTimeout",
                "guestSoftPowerOffTimeoutSeconds",
                "network.devices",
            ],
            ..whole(VSPHERE_WRITTEN, vsphere)
        },
        ("VSphereMachine", true) => Fixed {
            rule: "capv/rejected",
            only: &["imageName", "className", "storageClass", "minHardwareVersion", "network.interfaces"],
            ..whole(VSPHERE_WRITTEN, vsphere)
        },
        ("AWSMachineTemplate", false) => template(AWS_TEMPLATE, aws),
        ("AWSClusterTemplate", false) => whole(AWS_CLUSTER, aws),
        ("AWSMachine", false) => Fixed {
            rule: "capa/rejected",
            free: &[
                "providerID",
                "instanceID",
                "additionalTags",
                "additionalSecurityGroups",
                "cloudInit.secretPrefix",
                "cloudInit.secretCount",
                "cloudInit.secureSecretsBackend",
                "privateDnsName.enableResourceNameDnsAAAARecord",
                "privateDnsName.enableResourceNameDnsARecord",
            ],
            ..whole(AWS_MACHINE, aws)
        },
        ("AWSManagedMachinePool", false) => Fixed {
            rule: "capa/rejected",
            only: &[
                "subnetIDs",
                "diskSize",
                "amiType",
                "remoteAccess",
                "availabilityZones",
                "availabilityZoneSubnetType",
                "awsLaunchTemplate.name",
            ],
            ..whole(AWS_POOL, aws)
        },
        ("AWSFargateProfile", false) => {
            Fixed { rule: "capa/rejected", free: &["additionalTags"], ..whole(AWS_POOL, aws) }
        }
        _ => return None,
    })
}

impl Fixed {
    /// The places at which both sides differ; `None` where this version compares nothing.
    pub(crate) fn differences(&self, old: &Value, new: &Value, versions: &Versions) -> Option<Vec<Path>> {
        let (provider, major, minor) = self.since;
        if !versions.at_least(provider, major, minor) {
            return None;
        }
        let (mut before, mut after) = (self.content(old), self.content(new));
        // Objects of before these options were there take them once (`awsmachinetemplate_webhook.go`).
        if provider == "aws"
            && let (Some(before), Some(options)) = (before.as_object_mut(), after.get("instanceMetadataOptions"))
            && self.rule == "template/content"
        {
            before.entry("instanceMetadataOptions").or_insert_with(|| options.clone());
        }
        for side in [&mut before, &mut after] {
            durations(side);
        }
        Some(diff::places(Some(&before), Some(&after), &self.place()))
    }

    /// Whether the comparison is about a path.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        let below = |text: &&str| text.split('.').fold(self.place(), |at, key| at.key(key)).covers(path);
        let is_named = self.only.is_empty() || self.only.iter().any(below);
        self.place().covers(path) && is_named && !self.free.iter().any(below)
    }

    /// The place of what is compared.
    fn place(&self) -> Path {
        self.at.iter().fold(Path::root(), |at, key| at.key(*key))
    }

    /// What is compared of one side.
    fn content(&self, side: &Value) -> Value {
        let mut whole = self.place().get(side).cloned().unwrap_or_else(|| json!({}));
        for free in self.free {
            let (parent, last) = free
                .rsplit_once('.')
                .map_or((String::new(), *free), |(head, last)| (format!("/{}", head.replace('.', "/")), last));
            if let Some(map) = whole.pointer_mut(&parent).and_then(Value::as_object_mut) {
                map.shift_remove(last);
            }
        }
        if !self.only.is_empty() {
            let mut named = json!({});
            for only in self.only {
                if let Some(value) = whole.pointer(&format!("/{}", only.replace('.', "/"))) {
                    let mut at = &mut named;
                    for key in only.split('.') {
                        // What is named lies in maps that are made here.
                        at = &mut at[key];
                    }
                    *at = value.clone();
                }
            }
            whole = named;
        }
        diff::prune(&mut whole, self.style);
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(api_version: &str, kind: &str, old: Value, new: Value) -> Vec<String> {
        let fixed = of(&Key::new(api_version, kind, None, "x")).expect("a kind that is compared");
        let versions = Versions::told("vsphere", "v1.14.0");
        let found = fixed.differences(&old, &new, &versions).expect("a version that compares");
        found.iter().map(ToString::to_string).collect()
    }

    fn template(spec: Value) -> Value {
        json!({"spec": {"template": {"spec": spec}}})
    }

    #[test]
    fn what_go_cannot_tell_apart_is_the_same() {
        let told = |old: Value, new: Value| {
            places("infrastructure.cluster.x-k8s.io/v1beta1", "VSphereMachineTemplate", template(old), template(new))
        };
        let old = json!({"guestSoftPowerOffTimeout": "10m0s", "network": {"devices": [{"networkName": "a"}]}});
        let new = json!({"guestSoftPowerOffTimeout": "10m", "thumbprint": "",
            "network": {"devices": [{"networkName": "a", "dhcp4": false}]}});
        assert_eq!(told(old.clone(), new), [""; 0]);
        let lists = json!({"guestSoftPowerOffTimeout": "10m0s", "tagIDs": [], "failureDomain": "",
            "network": {"devices": [{"networkName": "a"}]}});
        assert_eq!(told(old, lists), ["spec.template.spec.tagIDs", "spec.template.spec.failureDomain"]);
    }

    #[test]
    fn a_machine_keeps_all_but_what_is_free() {
        let group = "infrastructure.cluster.x-k8s.io/v1beta2";
        let machine = |spec: Value| json!({"spec": spec});
        let old = machine(json!({"instanceType": "a", "cloudInit": {"secretPrefix": "p", "secretCount": 1}}));
        let new = machine(
            json!({"instanceType": "a", "providerID": "x", "networkInterfaces": [], "subnet": {"filters": []}}),
        );
        assert_eq!(places(group, "AWSMachine", old.clone(), new), ["spec.subnet"]);
        let other = machine(json!({"instanceType": "b", "privateDnsName": {"enableResourceNameDnsARecord": true}}));
        assert_eq!(places(group, "AWSMachine", old, other), ["spec.instanceType", "spec.privateDnsName"]);
    }

    #[test]
    fn only_what_is_named_is_fixed_in_supervisor_mode() {
        let group = "vmware.infrastructure.cluster.x-k8s.io/v1beta1";
        let old = json!({"spec": {"imageName": "a", "network": {"interfaces": {"primary": {"mtu": 1500}}}}});
        let new = json!({"spec": {"imageName": "a", "powerOffMode": "soft"}});
        assert_eq!(places(group, "VSphereMachine", old, new), ["spec.network"]);
        let fixed = of(&Key::new(group, "VSphereMachine", None, "x")).expect("a kind that is compared");
        let covers = |text: &str| fixed.covers(&Path::parse(text).expect("a path"));
        assert!(covers("spec.network.interfaces.primary.mtu") && !covers("spec.powerOffMode"));
        assert!(of(&Key::new("x.dev/v1", "VSphereMachine", None, "x")).is_none());
    }

    #[test]
    fn options_of_metadata_come_once() {
        let told = |old: Value, new: Value| {
            places("infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachineTemplate", template(old), template(new))
        };
        let options = json!({"instanceMetadataOptions": {"httpTokens": "required"}});
        assert_eq!(told(json!({}), options.clone()), [""; 0]);
        assert_eq!(told(options, json!({})), ["spec.template.spec.instanceMetadataOptions"]);
    }
}
