# The image of Driftless. Build it from a clean checkout:
#
#   docker build --tag registry.example.com/driftless:0.2.0 .
#
# Base images are pinned by full version. Tags can be moved; for a reproducible build pass digests
# that you have verified:
#
#   --build-arg NODE_IMAGE=node@sha256:… --build-arg GO_IMAGE=golang@sha256:…
#
# Node 26 is the newest LTS line; the unit tests run on exactly this version (`npm run test:lts`).
# helm, kustomize and jsonnet have the versions of `npm run e2e`. `npm run image:check` checks this
# file against our rules and runs its steps as far as possible without a container engine;
# `npm run e2e:node` builds it with an engine and checks the sizes.
#
# For several platforms: `docker buildx build --platform linux/amd64,linux/arm64`. Only the stage
# `system` runs on the target platform; the others compile for it, or do not depend on one.
ARG NODE_IMAGE=node:26.10.0-trixie-slim
ARG GO_IMAGE=golang:1.26.8-trixie

# helm, kustomize and jsonnet are built from source: Go's checksum database verifies every module.
# A compiled program lies in bin, one for another platform in a folder of bin.
FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS tools
ARG TARGETOS
ARG TARGETARCH
ARG HELM_VERSION=4.3.1
ARG KUSTOMIZE_VERSION=5.8.2
ARG JSONNET_VERSION=0.22.0
ENV CGO_ENABLED=0 GOPATH=/go GOFLAGS=-trimpath GOSUMDB=sum.golang.org
RUN export GOOS="${TARGETOS}" GOARCH="${TARGETARCH}" \
    && go install -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=v${HELM_VERSION}" "helm.sh/helm/v4/cmd/helm@v${HELM_VERSION}" \
    && go install -ldflags "-s -w -X sigs.k8s.io/kustomize/api/provenance.version=v${KUSTOMIZE_VERSION}" "sigs.k8s.io/kustomize/kustomize/v5@v${KUSTOMIZE_VERSION}" \
    && go install -ldflags "-s -w" "github.com/google/go-jsonnet/cmd/jsonnet@v${JSONNET_VERSION}" \
    && mkdir /out \
    && find /go/bin -type f -exec mv -t /out {} +

# The compiler and its types stay in this stage. .dockerignore keeps tests and benchmarks out.
# /out is what changes with our code: one layer of the image.
FROM --platform=${BUILDPLATFORM} ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node node_modules/typescript-native/bin/tsc -p . --sourceMap false \
    && node scripts/client-node.mjs \
    && node scripts/dashboard/build.mjs \
    && node scripts/programs.mjs \
    && rm -rf dist/.tsbuildinfo dist/engine \
    && node scripts/release/sbom.mjs
RUN mkdir -p /out/opt/driftless/manifests /out/usr/local/bin \
    && cp -R dist examples package.json LICENSE build/sbom.json /out/opt/driftless/ \
    && cp -R manifests/crds /out/opt/driftless/manifests/ \
    && chmod 0755 /out/opt/driftless/dist/cli/main.js /out/opt/driftless/dist/cli/argocd-application-controller.js \
    && ln -s ../../../opt/driftless/dist/cli/main.js /out/usr/local/bin/driftless \
    && ln -s ../../../opt/driftless/dist/cli/argocd-application-controller.js /out/usr/local/bin/argocd-application-controller

# The production packages of the lock file, verified by its checksums. --ignore-scripts: no package
# runs code during its installation. No platform: none contains native code that Node loads. The
# parts of client-node that the controller uses are bundled into dist, and so is age: they go.
FROM --platform=${BUILDPLATFORM} ${NODE_IMAGE} AS dependencies
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && npm uninstall --omit=dev --ignore-scripts --no-audit --no-fund --offline @kubernetes/client-node age-encryption \
    && find node_modules -type f -regex '.*\.\(map\|ts\|mts\|cts\|bare\)' -delete \
    && rm -rf node_modules/*/test node_modules/*/tests node_modules/@opentelemetry/*/build/esm node_modules/@opentelemetry/*/build/esnext node_modules/@opentelemetry/semantic-conventions/dist/experimental_*

# Debian with the programs that the controller starts. The image gets this stage as one layer, so
# what a step removes takes no space.
FROM ${NODE_IMAGE} AS system
RUN groupadd --gid 999 argocd \
    && useradd --uid 999 --gid 999 --home-dir /home/argocd --no-create-home --shell /usr/sbin/nologin argocd
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils ca-certificates git gpg gpg-agent libatomic1 libnss-wrapper openssh-client tini \
    && strip --strip-unneeded /usr/local/bin/node \
    && apt-get purge --yes --auto-remove binutils \
    && rm -rf /var/lib/apt /var/cache/apt /var/log/*
# npm, and what belongs to Node beside its program.
RUN rm -rf /opt/yarn* /usr/local/bin/corepack /usr/local/bin/np* /usr/local/bin/yarn* /usr/local/include /usr/local/lib/node_modules /usr/local/share
# Packages that no program of the image needs: perl, the package manager, accounts and logins.
RUN dpkg --purge --force-depends --force-remove-essential --force-remove-protected $(dpkg-query --show --showformat '${Package} ' \
    adduser apt debconf debian-archive-keyring diffutils git-man init-system-helpers libapt-pkg* libaudit* libcbor* libdb5* libdebconf* liberror-perl \
    libexpat* libfido2* libgdbm* libksba* liblastlog2* libpam* libperl5* libsemanage* libsepol* libsystemd* libudev* libxxhash* \
    login login.defs mawk ncurses-bin openssl openssl-provider-legacy passwd perl pinentry-curses perl-base perl-modules-5* sqv sysvinit-utils tzdata)
# Of the packages that stay: dpkg (its list stays, for scanners), character sets other than Unicode,
# what git needs to serve, to mail and to push over WebDAV, agents and hardware keys of ssh.
RUN ln -sf ../../bin/git /usr/lib/git-core/git \
    && cd /usr/lib/git-core && rm -rf git-daemon git-http-backend git-http-fetch git-http-push git-imap-send git-shell scalar /usr/bin/git-shell /usr/bin/scalar /usr/share/gitweb /usr/share/perl5 \
    && cd /usr/bin && rm -f scp sftp ssh-add ssh-agent ssh-keyscan ../lib/openssh/* ../lib/gnupg/keyboxd tini-static \
    && rm -f chfn chsh findmnt iconv localedef logger login lsblk lscpu lslogins newgrp pinky su users wall who ../sbin/agetty ../sbin/iconvconfig ../sbin/ldconfig ../sbin/runuser ../sbin/sulogin ../sbin/update-passwd ../sbin/zramctl \
    && rm -rf ../lib/*/gconv ../lib/*/libbrotlienc.so* ../lib/*/libmvec.so* ../share/bash-completion /var/cache/* /var/lib/pam /var/lib/dpkg/*-old \
    && cd /var/lib/dpkg/info && rm -f *.p* *.shlibs *.symbols *.templates *.triggers *.config /usr/bin/dpkg*
# No program changes its user, and each finds its libraries.
RUN find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
    && ! find /usr/bin /usr/sbin /usr/lib/git-core /usr/local/bin -type f -exec ldd {} + 2>/dev/null | grep -B9 'not found'

FROM scratch
COPY --from=system / /
COPY --from=tools /out/ /usr/local/bin/
COPY --from=dependencies /src/node_modules /opt/driftless/node_modules
RUN mkdir -p /home/argocd/cache /home/argocd/cmp-server/plugins /app/config/ssh /app/config/tls /app/config/controller/tls /app/config/reposerver/mtls /app/config/renderer /run/driftless/renderer \
    && chown -R 999:0 /home/argocd \
    && chmod -R g=u /home/argocd
COPY --from=build /out/ /
ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="driftless" \
      org.opencontainers.image.description="Sharded GitOps application controller, a drop-in for Argo CD's" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin NODE_ENV=production HOME=/home/argocd DRIFTLESS_CACHE_DIR=/home/argocd/cache ARGOCD_SSH_DATA_PATH=/app/config/ssh ARGOCD_TLS_DATA_PATH=/app/config/tls
# A number, so that Kubernetes can verify runAsNonRoot. Only /home/argocd and /tmp must be writable.
USER 999
WORKDIR /home/argocd
EXPOSE 8082
# tini forwards signals and reaps orphans of git and ssh. It runs the command that it is given: the
# chart passes argocd-application-controller.
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["/usr/local/bin/driftless", "run"]
