# The image of `rollgate serve`: one static binary, nobody's shell, no root. Architectures: linux/amd64, linux/arm64.
#
#   .ci/release image x86_64-unknown-linux-musl image && .ci/release image aarch64-unknown-linux-musl image
#   docker buildx build --platform linux/amd64,linux/arm64 -t rollgate .                  the server
#   docker buildx build --platform linux/amd64,linux/arm64 -t rollgate-render --target render .  with Helm and kustomize, for plan and flux render

# Helm and kustomize from their own modules, at the versions and with the sums that the tests run.
FROM --platform=$BUILDPLATFORM golang:1.26 AS programs
ARG TARGETOS
ARG TARGETARCH
ENV CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local
COPY tests/bench/modules/helm4/go.mod tests/bench/modules/helm4/go.sum /src/helm4/
COPY tests/bench/modules/kustomize/go.mod tests/bench/modules/kustomize/go.sum /src/kustomize/
RUN cd /src/helm4 && GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w" -o /out/helm helm.sh/helm/v4/cmd/helm
RUN cd /src/kustomize && GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w" -o /out/kustomize sigs.k8s.io/kustomize/kustomize/v5

FROM gcr.io/distroless/static-debian12:nonroot AS base
ARG TARGETPLATFORM
COPY --chmod=0755 image/$TARGETPLATFORM/rollgate /usr/local/bin/rollgate
COPY LICENSE /licenses/rollgate/LICENSE
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/rollgate"]

# Helm writes what it fetches; with a read-only root, mount an emptyDir at /tmp.
FROM base AS render
COPY --from=programs --chmod=0755 /out/helm /out/kustomize /usr/local/bin/
ENV HELM_CACHE_HOME=/tmp/helm/cache HELM_CONFIG_HOME=/tmp/helm/config HELM_DATA_HOME=/tmp/helm/data
USER 65532:65532

FROM base AS serve
USER 65532:65532
CMD ["serve", "--help"]
