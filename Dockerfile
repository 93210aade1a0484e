# The image of Driftless. Build it from a clean checkout:
#
#   docker build --tag registry.example.com/driftless:0.1.0 .
#
# Base images are pinned by full version. Tags can be moved; for a reproducible build pass digests
# that you have verified:
#
#   --build-arg NODE_IMAGE=node@sha256:… --build-arg GO_IMAGE=golang@sha256:…
#
# Node 26 is the newest LTS line; the unit tests run on exactly this version (`npm run test:lts`).
# helm, kustomize and jsonnet have the versions of `npm run e2e`. `npm run image:check` checks this
# file against our rules and runs its steps as far as possible without a container engine.
ARG NODE_IMAGE=node:26.10.0-trixie-slim
ARG GO_IMAGE=golang:1.26.8-trixie

# helm, kustomize and jsonnet are built from source: Go's checksum database verifies every module.
FROM ${GO_IMAGE} AS tools
ARG HELM_VERSION=4.3.1
ARG KUSTOMIZE_VERSION=5.8.2
ARG JSONNET_VERSION=0.22.0
ENV CGO_ENABLED=0 GOBIN=/out GOFLAGS=-trimpath GOSUMDB=sum.golang.org
RUN go install -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=v${HELM_VERSION}" "helm.sh/helm/v4/cmd/helm@v${HELM_VERSION}" \
    && go install -ldflags "-s -w -X sigs.k8s.io/kustomize/api/provenance.version=v${KUSTOMIZE_VERSION}" "sigs.k8s.io/kustomize/kustomize/v5@v${KUSTOMIZE_VERSION}" \
    && go install -ldflags "-s -w" "github.com/google/go-jsonnet/cmd/jsonnet@v${JSONNET_VERSION}"

# The compiler and its types stay in this stage. .dockerignore keeps tests and benchmarks out.
FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node node_modules/typescript/bin/tsc -p . --sourceMap false \
    && rm -f dist/.tsbuildinfo \
    && node scripts/release/sbom.mjs

# The production packages of the lock file, verified by its checksums. --ignore-scripts: no package
# runs code during its installation.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
# The user is created before any package is installed: packages may take the number 999.
RUN groupadd --gid 999 argocd \
    && useradd --uid 999 --gid 999 --home-dir /home/argocd --create-home --shell /usr/sbin/nologin argocd \
    && mkdir -p /home/argocd/cache /home/argocd/cmp-server/plugins /app/config/ssh /app/config/tls /app/config/controller/tls /app/config/reposerver/mtls /app/config/renderer /run/driftless/renderer \
    && chown -R 999:0 /home/argocd \
    && chmod -R g=u /home/argocd
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git gnupg libnss-wrapper openssh-client tini \
    && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn*
COPY --from=tools /out/helm /out/kustomize /out/jsonnet /usr/local/bin/
COPY --from=dependencies /src/node_modules /opt/driftless/node_modules
COPY --from=build /src/package.json /src/LICENSE /src/build/sbom.json /opt/driftless/
COPY --from=build /src/dist /opt/driftless/dist
COPY --from=build /src/manifests/crds /opt/driftless/manifests/crds
COPY --from=build /src/examples /opt/driftless/examples
RUN chmod 0755 /opt/driftless/dist/cli/main.js /opt/driftless/dist/cli/argocd-application-controller.js \
    && ln -s /opt/driftless/dist/cli/main.js /usr/local/bin/driftless \
    && ln -s /opt/driftless/dist/cli/argocd-application-controller.js /usr/local/bin/argocd-application-controller
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="driftless" \
      org.opencontainers.image.description="Sharded GitOps application controller, a drop-in for Argo CD's" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production HOME=/home/argocd DRIFTLESS_CACHE_DIR=/home/argocd/cache ARGOCD_SSH_DATA_PATH=/app/config/ssh ARGOCD_TLS_DATA_PATH=/app/config/tls
# A number, so that Kubernetes can verify runAsNonRoot. Only /home/argocd and /tmp must be writable.
USER 999
WORKDIR /home/argocd
EXPOSE 8082
# tini forwards signals and reaps orphans of git and ssh. It runs the command that it is given: the
# chart passes argocd-application-controller.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["/usr/local/bin/driftless", "run"]
