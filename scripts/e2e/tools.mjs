// The tools that `npm run e2e` needs beside Node, npm and git: the version that we build, the
// oldest version of the machine that we accept, and where to get them. `onlyFor`: without the tool
// only these test files are left out. `module` is the Go module of `package`; `stamp` sets its
// version.

export const kubernetes = '1.36.3';

const component = 'k8s.io/component-base/version';
/** Sets the version of every Kubernetes binary. */
export const kubernetesStamp = [
  `${component}.gitVersion=v${kubernetes}`,
  `${component}.gitMajor=1`,
  `${component}.gitMinor=${kubernetes.split('.')[1]}`,
  `${component}.gitTreeState=archive`,
];
export const kubernetesModule = {
  path: 'k8s.io/kubernetes',
  version: `v${kubernetes}`,
  staging: `v0.${kubernetes.slice(2)}`,
};

export const tools = [
  {
    name: 'kube-apiserver',
    version: kubernetes,
    // The answers in test/conformance/recorded come from this minor version.
    accepts: (found) => found.startsWith(`${kubernetes.split('.').slice(0, 2).join('.')}.`),
    wanted: `${kubernetes.split('.').slice(0, 2).join('.')}.x`,
    ask: ['--version'],
    answer: /Kubernetes v(\S+)/,
    go: { module: kubernetesModule, package: 'k8s.io/kubernetes/cmd/kube-apiserver', stamp: kubernetesStamp },
  },
  {
    // Its garbage collector and namespace controller, where a double is no proof.
    name: 'kube-controller-manager',
    version: kubernetes,
    accepts: (found) => found === kubernetes,
    wanted: kubernetes,
    ask: ['--version'],
    answer: /Kubernetes v(\S+)/,
    onlyFor: ['deletion-reports.e2e.ts', 'every-operation-ends.e2e.ts', 'public-reports.e2e.ts'],
    go: { module: kubernetesModule, package: 'k8s.io/kubernetes/cmd/kube-controller-manager', stamp: kubernetesStamp },
  },
  {
    name: 'etcd',
    version: '3.6.6',
    // Older ones lack progress requests for watches; without them the API server cannot stream
    // lists.
    accepts: atLeast(3, 5, 13),
    wanted: '3.5.13 or newer',
    ask: ['--version'],
    answer: /etcd Version: (\S+)/,
    apt: 'etcd-server',
    go: {
      module: { path: 'go.etcd.io/etcd/server/v3', version: 'v3.6.6' },
      package: 'go.etcd.io/etcd/server/v3',
      stamp: [],
    },
  },
  {
    // Restores an etcd snapshot into a data folder, as an operator does.
    name: 'etcdutl',
    version: '3.6.6',
    accepts: atLeast(3, 5, 13),
    wanted: '3.5.13 or newer',
    ask: ['version'],
    answer: /etcdutl version: (\S+)/,
    go: {
      module: { path: 'go.etcd.io/etcd/etcdutl/v3', version: 'v3.6.6' },
      package: 'go.etcd.io/etcd/etcdutl/v3',
      stamp: [],
    },
  },
  {
    name: 'kubectl',
    version: kubernetes,
    accepts: atLeast(1, 28),
    wanted: '1.28 or newer',
    ask: ['version', '--client'],
    answer: /Client Version: v(\S+)/,
    apt: 'kubernetes-client',
    go: { module: kubernetesModule, package: 'k8s.io/kubernetes/cmd/kubectl', stamp: kubernetesStamp },
  },
  {
    name: 'helm',
    version: '4.3.1',
    accepts: atLeast(3, 14),
    wanted: '3.14 or newer',
    ask: ['version', '--short'],
    answer: /v(\d\S*)/,
    go: {
      module: { path: 'helm.sh/helm/v4', version: 'v4.3.1' },
      package: 'helm.sh/helm/v4/cmd/helm',
      stamp: ['helm.sh/helm/v4/internal/version.version=v4.3.1'],
    },
  },
  {
    name: 'kustomize',
    version: '5.8.2',
    accepts: atLeast(5, 0),
    wanted: '5.0 or newer',
    ask: ['version'],
    answer: /v(\d\S*)/,
    go: {
      module: { path: 'sigs.k8s.io/kustomize/kustomize/v5', version: 'v5.8.2' },
      package: 'sigs.k8s.io/kustomize/kustomize/v5',
      stamp: ['sigs.k8s.io/kustomize/api/provenance.version=v5.8.2'],
    },
  },
  {
    // Argo CD's components read from it; any version since 6 has the commands that they use.
    name: 'redis-server',
    accepts: atLeast(6, 0),
    wanted: '6.0 or newer',
    ask: ['--version'],
    answer: / v=(\d\S*)/,
    apt: 'redis-server',
  },
  {
    // go-jsonnet, the implementation inside Argo CD. (Debian packages the C++ one.)
    name: 'jsonnet',
    version: '0.22.0',
    accepts: atLeast(0, 20),
    wanted: '0.20 or newer',
    ask: ['--version'],
    answer: /v(\d\S*)/,
    go: {
      module: { path: 'github.com/google/go-jsonnet', version: 'v0.22.0' },
      package: 'github.com/google/go-jsonnet/cmd/jsonnet',
      stamp: [],
    },
  },
  {
    // All components of Argo CD are one binary (ARGOCD_BINARY_NAME selects one). The CRD of
    // ApplicationSets lies beside it.
    name: 'argocd',
    version: '3.6.1',
    accepts: (found) => found.startsWith('3.6.'),
    wanted: '3.6.x, with applicationset-crd.yaml beside it',
    ask: ['version', '--client', '--short'],
    answer: /argocd: v(\d[\d.]*)/,
    onlyFor: [
      'argo-cli.e2e.ts',
      'chaos-repo-server.e2e.ts',
      'hydrator.e2e.ts',
      'plugins.e2e.ts',
      'repo-server.e2e.ts',
      'repo-server-protocol.e2e.ts',
      'source-options.e2e.ts',
    ],
    go: {
      module: { path: 'github.com/argoproj/argo-cd/v3', version: 'v3.6.1', language: '1.27.0', replaced: true },
      package: 'github.com/argoproj/argo-cd/v3/cmd',
      beside: { 'manifests/crds/applicationset-crd.yaml': 'applicationset-crd.yaml' },
      stamp: ['github.com/argoproj/argo-cd/v3/common.version=3.6.1'],
    },
  },
  {
    // Serves LFS files over ssh. It has no version and prints its purpose.
    name: 'git-lfs-transfer',
    version: '0.1.0',
    accepts: () => true,
    wanted: 'any',
    ask: [],
    answer: /SSH (transfer) agent/,
    onlyFor: ['lfs-ssh.e2e.ts'],
    go: {
      module: { path: 'github.com/charmbracelet/git-lfs-transfer', version: 'v0.1.0' },
      package: 'github.com/charmbracelet/git-lfs-transfer',
      stamp: [],
    },
  },
  {
    name: 'oauth2-proxy',
    version: '7.15.6',
    accepts: atLeast(7, 0),
    wanted: '7.x',
    ask: ['--version'],
    answer: /oauth2-proxy v(\d\S*)/,
    onlyFor: ['sign-in.e2e.ts'],
    go: {
      module: { path: 'github.com/oauth2-proxy/oauth2-proxy/v7', version: 'v7.15.6' },
      package: 'github.com/oauth2-proxy/oauth2-proxy/v7',
      stamp: ['github.com/oauth2-proxy/oauth2-proxy/v7/pkg/version.VERSION=v7.15.6'],
    },
  },
  {
    // Encrypts files as users do; ours must decrypt them.
    name: 'sops',
    version: '3.13.3',
    accepts: atLeast(3, 9),
    wanted: '3.9 or newer',
    ask: ['--version', '--disable-version-check'],
    answer: /sops (\d\S*)/,
    onlyFor: ['sops.e2e.ts'],
    go: {
      module: { path: 'github.com/getsops/sops/v3', version: 'v3.13.3' },
      package: 'github.com/getsops/sops/v3/cmd/sops',
      stamp: [],
    },
  },
  {
    name: 'sshd',
    accepts: atLeast(8, 0),
    wanted: '8.0 or newer',
    // Old versions reject this option and print their version all the same.
    ask: ['-V'],
    answer: /OpenSSH_(\d[\d.]*)/,
    apt: 'openssh-server',
  },
  {
    name: 'openssl',
    accepts: atLeast(1, 1),
    wanted: '1.1 or newer',
    ask: ['version'],
    answer: /OpenSSL (\S+)/,
    apt: 'openssl',
  },
];

function atLeast(...wanted) {
  return (found) => {
    const parts = found.split('.').map((part) => Number.parseInt(part, 10));
    const at = wanted.findIndex((part, i) => (parts[i] ?? 0) !== part);
    return at < 0 || (parts[at] ?? 0) > wanted[at];
  };
}
