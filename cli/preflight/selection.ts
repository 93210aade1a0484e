import { untilAborted, OwnershipLost, UsageError } from '#base';
import { annotationOf, annotations, appKeyOf, asObject, labelOf, projectOf } from '#model';
import type { AppKey, Application, Cluster } from '#model';
import { indexClusters, resolveDestination } from '#settings';
import type { Ownership } from '#sharding';
import { isTrue } from './facts.ts';
import type { InstallationFacts } from './facts.ts';

/** Selects Applications; an empty selector selects all. */
export interface ApplicationSelector {
  /** `name` (in the controller's namespace, or unique) or `namespace/name`. */
  readonly names: readonly string[];
  readonly projects: readonly string[];
  /**
   * Label selector in kubectl's syntax: `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin
   * (b,c)`, separated by commas.
   */
  readonly labels: string;
}

/**
 * The selected Applications by key.
 * @throws UsageError for an unknown name or an invalid selector.
 */
export function select(installation: InstallationFacts, selector: ApplicationSelector): readonly Application[] {
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

type LabelRequirement = (label: (name: string) => string | undefined) => boolean;

function parseSelector(text: string): readonly LabelRequirement[] {
  // A comma inside parentheses belongs to the list.
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return parts.filter((part) => part !== '').map(requirement);
}

function requirement(text: string): LabelRequirement {
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

/** Whether both controllers skip the Application: skip-reconcile on it, or on its cluster. */
export function isLeftAlone(app: Application, installation: InstallationFacts): boolean {
  if (isTrue(annotationOf(asObject(app), annotations.skipReconcile))) return true;
  return isTrue(clusterOf(app, installation)?.annotations[annotations.skipReconcile]);
}

/** The cluster of an Application, or why there is none. */
export function destinationOf(
  app: Application,
  { clusters, settings }: InstallationFacts,
): ReturnType<typeof resolveDestination> {
  const known = indexClusters(clusters);
  return resolveDestination(app.spec.destination, known, settings.inClusterEnabled, projectOf(app));
}

/** Undefined if the destination cannot be resolved. */
export function clusterOf(app: Application, installation: InstallationFacts): Cluster | undefined {
  const found = destinationOf(app, installation);
  return 'error' in found ? undefined : found;
}

/**
 * Owns exactly the compared Applications and their clusters, so that no other cluster is read.
 * Never permits a write.
 */
export function ownershipOf(applications: readonly Application[], installation: InstallationFacts): Ownership {
  const keys = new Set(applications.map(appKeyOf));
  const targets = applications.map((app) => clusterOf(app, installation)).filter((cluster) => cluster !== undefined);
  const servers = new Map(targets.map(({ server, name }) => [server, name]));
  const identity = { shard: 0, replicas: 1 };
  const refuse = (): never => {
    throw new OwnershipLost('anything: preflight only reads');
  };
  return {
    name: 'selection',
    run: untilAborted,
    identity: () => identity,
    ownsCluster: (server) => servers.has(server),
    ownsApp: (key) => keys.has(key),
    assertOwns: refuse,
    update: () => undefined,
    measure: () => undefined,
    onChange: () => () => undefined,
    facts: () => noFacts,
    placeOf: () => undefined,
    table: () => [...servers].map(([server, name]) => ({ server, name, shard: 0 })),
    writing: () => Promise.reject(new OwnershipLost('anything: preflight only reads')),
    leaseLeftMs: () => 0,
    ownedParts: (server) => (servers.has(server) ? { of: 1, owned: [0] } : undefined),
    gaining: () => new Map(),
    prepared: () => undefined,
    unowned: () => new Map(),
    isUnowned: () => false,
    settled: () => true,
    conditions: () => [],
  };
}

const noFacts: ReturnType<Ownership['facts']> = {
  epoch: undefined,
  epochSince: undefined,
  algorithm: 'legacy',
  shards: 1,
  holders: new Map(),
  entries: new Map(),
  handOvers: [],
  unowned: new Map(),
};
