// What `npm run e2e:node` needs beside the tools of `npm run e2e`: Debian's packages, and the
// components of a cluster that run on and around a node.
import { kubernetes, kubernetesModule, kubernetesStamp, tools } from '../e2e/tools.mjs';

/** Debian packages, and a command of each. The plugins of CNI are not on PATH. */
export const packages = {
  buildah: 'buildah',
  containerd: 'containerd',
  runc: 'runc',
  'containernetworking-plugins': '/usr/lib/cni/ptp',
  mmdebstrap: 'mmdebstrap',
  iptables: 'iptables',
  iproute2: 'ip',
  conntrack: 'conntrack',
};

const shared = ['kube-apiserver', 'kube-controller-manager', 'etcd', 'kubectl', 'helm', 'sshd', 'openssl'];

/** For the scenario beside Argo CD. */
export const argoTools = tools.filter(({ name }) => name === 'argocd' || name === 'redis-server');

/** The tools of this command; Kubernetes has one version. */
export const nodeTools = [
  ...tools.filter(({ name }) => shared.includes(name)),
  ...['kubelet', 'kube-scheduler'].map((name) => ({
    name,
    version: kubernetes,
    accepts: (found) => found === kubernetes,
    wanted: kubernetes,
    ask: ['--version'],
    answer: /Kubernetes v(\S+)/,
    go: { module: kubernetesModule, package: `k8s.io/kubernetes/cmd/${name}`, stamp: kubernetesStamp },
  })),
];
