# The image of Driftless. Build it from a clean checkout:
#   docker build --tag driftless/driftless .
# Bases are pinned by version; for a reproducible build give their digests:
#   --build-arg NODE_IMAGE=node@sha256:… --build-arg GO_IMAGE=golang@sha256:…
# `npm run image:check` holds this file to its rules and runs its steps as far as they go without an engine.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim
ARG GO_IMAGE=golang:1.26.8-bookworm

# helm and kustomize at pinned versions; Go's checksum database vouches for every module that they are made of.
FROM ${GO_IMAGE} AS tools
ARG HELM_VERSION=4.3.1
ARG KUSTOMIZE_VERSION=5.8.2
ENV CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN=/out
RUN go install -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=v${HELM_VERSION}" "helm.sh/helm/v4/cmd/helm@v${HELM_VERSION}" \
    && go install -ldflags "-s -w -X sigs.k8s.io/kustomize/api/provenance.version=v${KUSTOMIZE_VERSION}" "sigs.k8s.io/kustomize/kustomize/v5@v${KUSTOMIZE_VERSION}"

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="driftless" \
      org.opencontainers.image.description="Sharded GitOps application controller, a drop-in for Argo CD's" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 999 argocd \
    && useradd --uid 999 --gid 999 --home-dir /home/argocd --create-home argocd \
    && mkdir -p /app/config/ssh /app/config/tls
COPY --from=tools /out/helm /out/kustomize /usr/local/bin/
COPY --from=dependencies /src/node_modules /opt/driftless/node_modules
COPY --from=build /src/package.json /src/LICENSE /opt/driftless/
COPY --from=build /src/dist /opt/driftless/dist
COPY --from=build /src/manifests/crds /opt/driftless/manifests/crds
COPY --from=build /src/examples /opt/driftless/examples
RUN chmod 0755 /opt/driftless/dist/cli/main.js /opt/driftless/dist/cli/argocd-application-controller.js \
    && ln -s /opt/driftless/dist/cli/main.js /usr/local/bin/driftless \
    && ln -s /opt/driftless/dist/cli/argocd-application-controller.js /usr/local/bin/argocd-application-controller
ENV NODE_ENV=production HOME=/home/argocd ARGOCD_SSH_DATA_PATH=/app/config/ssh ARGOCD_TLS_DATA_PATH=/app/config/tls
# By number, so that Kubernetes can see that it is not root.
USER 999
WORKDIR /home/argocd
# Signals reach the controller, and what git and ssh leave behind is reaped.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["/usr/local/bin/driftless", "run"]
