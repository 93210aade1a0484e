import { aborted, OwnershipLost, UsageError } from '#base';
import { annotationOf, annotations, appKeyOf, asObject, labelOf, projectOf } from '#model';
import type { AppKey, Application, Cluster } from '#model';
import { indexClusters, resolveDestination } from '#settings';
import type { Ownership } from '#sharding';
import { isTrue } from './facts.ts';
import type { Installation } from './facts.ts';

/** Which Applications are looked at; everything empty: all. */
export interface Selector {
  /** `name` (in the controller's namespace, or the only one of that name) or `namespace/name`. */
  readonly names: readonly string[];
  readonly projects: readonly string[];
  /** As kubectl takes it: `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b,c)`, separated by commas. */
  readonly labels: string;
}

/**
 * The Applications that a selector means, by key.
 * @throws UsageError for a name that no Application has, and for a selector that cannot be read.
 */
export function select(installation: Installation, selector: Selector): readonly Application[] {
  const { applications, namespace } = installation;
  const wanted = selector.names.length === 0 ? undefined : new Set(selector.names.flatMap(namesake));
  const requirements = parseSelector(selector.labels);
  return applications
    .filter((app) => wanted?.has(appKeyOf(app)) !== false)
    .filter((app) => selector.projects.length === 0 || selector.projects.includes(projectOf(app)))
    .filter((app) => requirements.every((matches) => matches((label) => labelOf(asObject(app), label))))
    .sort((a, b) => (appKeyOf(a) < appKeyOf(b) ? -1 : 1));

  function namesake(name: string): readonly AppKey[] {
    const key = name.includes('/') ? name : `${namespace}/${name}`;
    const exact = applications.filter((app) => appKeyOf(app) === key);
    const found = exact.length > 0 ? exact : applications.filter((app) => app.metadata.name === name);
    if (found.length === 0) throw new UsageError(`there is no Application ${name}`);
    return found.map(appKeyOf);
  }
}

type Requirement = (label: (name: string) => string | undefined) => boolean;

function parseSelector(text: string): readonly Requirement[] {
  // A comma inside brackets belongs to its list.
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return parts.filter((part) => part !== '').map(requirement);
}

function requirement(text: string): Requirement {
  const set = /^([^\s!=(),]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set !== null) {
    const [, name = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (label) => values.includes(label(name) ?? '\u0000') === (operator === 'in');
  }
  const equality = /^([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)$/.exec(text);
  if (equality !== null) {
    const [, name = '', operator, value] = equality;
    return (label) => (label(name) === value) === (operator !== '!=');
  }
  const existence = /^(!?)\s*([^\s!=(),]+)$/.exec(text);
  if (existence === null) throw new UsageError(`--selector: "${text}" is no requirement on labels`);
  const [, not, name = ''] = existence;
  return (label) => (label(name) !== undefined) === (not === '');
}

/** Applications that both controllers leave alone: skip-reconcile on them, or on their cluster. */
export function isLeftAlone(app: Application, installation: Installation): boolean {
  if (isTrue(annotationOf(asObject(app), annotations.skipReconcile))) return true;
  return isTrue(clusterOf(app, installation)?.annotations[annotations.skipReconcile]);
}

/** Undefined when its destination cannot be resolved. */
export function clusterOf(app: Application, { clusters, settings }: Installation): Cluster | undefined {
  const found = resolveDestination(app.spec.destination, indexClusters(clusters), settings.inClusterEnabled);
  return 'error' in found ? undefined : found;
}

/**
 * Ownership of the Applications that are compared and of the clusters that they go to, and of nothing else: no other cluster is read. It never
 * gives the right to write.
 */
export function ownershipOf(applications: readonly Application[], installation: Installation): Ownership {
  const keys = new Set(applications.map(appKeyOf));
  const targets = applications.map((app) => clusterOf(app, installation)).filter((cluster) => cluster !== undefined);
  const servers = new Map(targets.map(({ server, name }) => [server, name]));
  const identity = { shard: 0, replicas: 1 };
  const refuse = (): never => {
    throw new OwnershipLost('anything: preflight only reads');
  };
  return {
    name: 'selection',
    run: aborted,
    identity: () => identity,
    ownsCluster: (server) => servers.has(server),
    ownsApp: (key) => keys.has(key),
    assertOwns: refuse,
    update: () => undefined,
    measure: () => undefined,
    onChange: () => () => undefined,
    table: () => [...servers].map(([server, name]) => ({ server, name, shard: 0 })),
    writing: () => Promise.reject(new OwnershipLost('anything: preflight only reads')),
    leaseLeftMs: () => 0,
    ownedParts: (server) => (servers.has(server) ? { of: 1, owned: [0] } : undefined),
    gaining: () => new Map(),
    prepared: () => undefined,
    unowned: () => new Map(),
    settled: () => true,
    conditions: () => [],
  };
}
