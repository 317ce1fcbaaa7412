# The Helm provider (3.x) calls the post-renderer as Helm 3 does, at plan time too: a hold may end the plan, with its reasons in the error.
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
