# Put your chart into ./chart, your values into values.yaml and the policy into rollgate.yaml, all beside this file. Then:
#
#   tofu init
#   tofu apply
#
# The Helm provider (3.x) calls the post-renderer as Helm 3 does when it applies: a hold ends that, with its reasons in the error. With
# experiments = { manifest = true } in the provider it calls it when it plans, too.
terraform {
  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = ">= 3.1.0"
    }
  }
}

variable "kubeconfig" {
  type    = string
  default = "~/.kube/config"
}

provider "helm" {
  kubernetes = {
    config_path = var.kubeconfig
  }
}

resource "helm_release" "edge_1" {
  name      = "edge-1"
  namespace = "telco"
  chart     = "./chart"
  values    = [file("values.yaml")]

  postrender = {
    binary_path = "rollgate"
    args        = ["post-render", "--policy=rollgate.yaml", "--release=edge-1", "--namespace=telco"]
  }
}
