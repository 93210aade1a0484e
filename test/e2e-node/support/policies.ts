import { execFileSync } from 'node:child_process';
import type { World } from './world.ts';

type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}

interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number | string; readonly protocol: string }[];
}

interface NetworkPolicy {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly podSelector: Selector;
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly Rule[];
    readonly egress?: readonly Rule[];
  };
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly labels?: Labels };
  readonly spec: {
    readonly containers: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
  readonly status: { readonly podIP?: string; readonly phase: string };
}

const chain = 'POLICY';

/**
 * Enforces the NetworkPolicies of the cluster for the pods that run now, as a network plugin does.
 * It knows the parts of a policy that the chart uses and throws for others.
 * @returns a function that lifts them
 */
export async function enforcePolicies({ hub }: World): Promise<() => void> {
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await hub.api.get<{ readonly items: readonly T[] }>(path))?.items ?? [];
  const policies = await list<NetworkPolicy>('/apis/networking.k8s.io/v1/networkpolicies');
  const pods = (await list<Pod>('/api/v1/pods')).filter(({ status }) => status.phase === 'Running');
  const lines = rulesOf(policies, pods);
  for (const line of [`-N ${chain}`, ...lines, `-I FORWARD -j ${chain}`, `-I INPUT -j ${chain}`]) iptables(line);
  return () => {
    for (const line of [`-D FORWARD -j ${chain}`, `-D INPUT -j ${chain}`]) iptables(line);
    const own = [chain, ...lines.flatMap((line) => /^-N (\S+)/.exec(line)?.[1] ?? [])];
    for (const name of own) iptables(`-F ${name}`);
    for (const name of own) iptables(`-X ${name}`);
  };
}

/**
 * Lines for iptables: a chain for each pod and direction in which a policy isolates it. What no
 * rule allows is dropped.
 */
export function rulesOf(policies: readonly NetworkPolicy[], pods: readonly Pod[]): string[] {
  const chains = pods.flatMap((pod, index) =>
    (['Egress', 'Ingress'] as const).flatMap((direction) =>
      chainOf(`${direction}-${index}`, policies, { pods, pod, direction }),
    ),
  );
  return [`-A ${chain} -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN`, ...chains];
}

function chainOf(name: string, policies: readonly NetworkPolicy[], context: RuleContext): string[] {
  const { pod, direction } = context;
  const own = policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace &&
      spec.policyTypes.includes(direction) &&
      matches(spec.podSelector, pod.metadata.labels),
  );
  if (own.length === 0) return [];
  const here = direction === 'Egress' ? '-s' : '-d';
  const rules = own.flatMap(({ spec }) => (direction === 'Egress' ? spec.egress : spec.ingress) ?? []);
  return [
    `-N ${name}`,
    `-A ${chain} ${here} ${pod.status.podIP} -j ${name}`,
    ...rules.flatMap((rule) => matchesOf(rule, context)).map((match) => `-A ${name}${match} -j RETURN`),
    `-A ${name} -j DROP`,
  ];
}

interface RuleContext {
  readonly pods: readonly Pod[];
  readonly pod: Pod;
  readonly direction: 'Egress' | 'Ingress';
}

/** Every combination of a peer's address and a port. */
function matchesOf(rule: Rule, context: RuleContext): string[] {
  const flag = context.direction === 'Egress' ? '-d' : '-s';
  const peers = context.direction === 'Egress' ? rule.to : rule.from;
  const addresses = peers?.flatMap((peer) => peerAddresses(peer, context)).map((address) => ` ${flag} ${address}`);
  const ports = rule.ports?.map(({ port, protocol }) => {
    const number = typeof port === 'number' ? port : namedPort(context.pod, port);
    return ` -p ${protocol.toLowerCase()} --dport ${number}`;
  });
  return (addresses ?? ['']).flatMap((address) => (ports ?? ['']).map((port) => address + port));
}

function peerAddresses({ podSelector, namespaceSelector }: Peer, { pods, pod }: RuleContext): string[] {
  if (namespaceSelector !== undefined && Object.keys(namespaceSelector).length > 0)
    throw new Error('selectors of namespaces are not supported here');
  return pods
    .filter(({ metadata }) => namespaceSelector !== undefined || metadata.namespace === pod.metadata.namespace)
    .filter(({ metadata }) => matches(podSelector ?? {}, metadata.labels))
    .map(({ status }) => status.podIP ?? '');
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels = {}): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`the operator ${operator} is not supported here`);
      return values.includes(labels[key] ?? '');
    })
  );
}

function namedPort({ spec }: Pod, name: string): number {
  const found = spec.containers.flatMap(({ ports = [] }) => ports).find((port) => port.name === name);
  if (found === undefined) throw new Error(`the pod has no port ${name}`);
  return found.containerPort;
}

function iptables(line: string): void {
  execFileSync('iptables', ['-w', ...line.split(' ')], { stdio: 'pipe', timeout: 20_000 });
}
