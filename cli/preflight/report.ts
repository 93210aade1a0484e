import { outsideText } from '#base';
import type { StatusDisagreement, PlannedWrite, ShadowVerdict } from '#controller';
import type { ClusterInfo, KindState } from '#live';
import { appKeyOf, projectOf } from '#model';
import type { Application } from '#model';
import type { PreflightComparison } from './compare.ts';
import { applicationFeatures, installationFeatures } from './features.ts';
import type { UsedFeature } from './features.ts';
import type { ReadInstallation } from './installation.ts';
import { clusterOf, isLeftAlone } from './selection.ts';
import { renderingRows, rows } from './rows.ts';
import type { LocatedTool } from './tools.ts';

/**
 * Contract of `driftless preflight -o json`. Members are added, never renamed or removed; `version`
 * increases otherwise. No member holds a value of a managed object.
 */
export interface PreflightReport {
  readonly version: 1;
  readonly namespace: string;
  /** The hub cluster. */
  readonly server: string;
  readonly summary: ReportSummary;
  readonly applications: readonly ApplicationReport[];
  /** Features of the installation; an Application's features are in its report. */
  readonly features: readonly UsedFeature[];
  /** Clusters that could not be read completely. */
  readonly clusters: readonly ClusterReport[];
  /** Repositories that could not be read. */
  readonly repositories: readonly RepositoryReport[];
  readonly tools: readonly (Omit<LocatedTool, 'path' | 'version'> & {
    readonly path: string | null;
    readonly version: string | null;
    readonly missing: boolean;
  })[];
  readonly notes: readonly string[];
}

export interface ReportSummary {
  readonly applications: number;
  readonly same: number;
  readonly differ: number;
  readonly notCompared: number;
  /** Skipped by both controllers (skip-reconcile). */
  readonly leftAlone: number;
  readonly writes: number;
  /** Objects with fields that Git dropped earlier. Absent: none. */
  readonly droppedObjects?: number;
  /** Number of features by severity, including those of Applications. */
  readonly refused: number;
  readonly differing: number;
  readonly missingTools: number;
}

export interface ApplicationReport {
  readonly namespace: string;
  readonly name: string;
  readonly project: string;
  readonly state: 'same' | 'differs' | 'notCompared' | 'leftAlone';
  /** Why the Application was not compared, and what to do. */
  readonly why: string | null;
  readonly theirs: ShadowVerdict['theirs'];
  /** Null if the Application was not compared. */
  readonly ours: ShadowVerdict['ours'] | null;
  readonly differences: readonly StatusDisagreement[];
  readonly writes: readonly PlannedWrite[];
  /** Fields that Git dropped earlier and Argo CD left: the first sync removes them. */
  readonly dropped?: NonNullable<ShadowVerdict['dropped']>;
  readonly conditions: ShadowVerdict['conditions'];
  readonly features: readonly UsedFeature[];
}

export interface ClusterReport {
  readonly server: string;
  readonly name: string;
  readonly message: string;
  readonly hint: string;
  readonly applications: number;
}

export interface RepositoryReport {
  readonly url: string;
  readonly message: string;
  readonly hint: string;
  readonly applications: number;
}

export interface PreflightFindings {
  readonly server: string;
  readonly installation: ReadInstallation;
  readonly applications: readonly Application[];
  readonly compared: PreflightComparison;
  readonly tools: readonly LocatedTool[];
  readonly timeoutMs: number;
}

/** Builds the report from all findings. Pure. */
export function reportOf(findings: PreflightFindings): PreflightReport {
  const { installation, tools } = findings;
  const applications = findings.applications.map((app) => applicationReport(app, findings));
  const features = installationFeatures(installation);
  const listed = tools.map(({ path, version, ...rest }) => ({
    ...rest,
    path: path ?? null,
    version: version ?? null,
    missing: path === undefined,
  }));
  const droppedObjects = applications.reduce((sum, { dropped = [] }) => sum + dropped.length, 0);
  const all = [...features, ...applications.flatMap((each) => each.features)];
  const count = (state: ApplicationReport['state']): number =>
    applications.filter((each) => each.state === state).length;
  return {
    version: 1,
    namespace: installation.namespace,
    server: findings.server,
    summary: {
      applications: applications.length,
      same: count('same'),
      differ: count('differs'),
      notCompared: count('notCompared'),
      leftAlone: count('leftAlone'),
      writes: applications.reduce((sum, { writes }) => sum + writes.length, 0),
      ...(droppedObjects === 0 ? {} : { droppedObjects }),
      refused: all.filter(({ severity }) => severity === 'refused').length,
      differing: all.filter(({ severity }) => severity === 'differs').length,
      missingTools: listed.filter(({ missing }) => missing).length,
    },
    applications,
    features,
    clusters: clusterReports(findings),
    repositories: repositoryReports(findings),
    tools: listed,
    notes: installation.notes,
  };
}

/** 0: nothing differs. 1: something does. 2: there are Applications, and none could be compared. */
export function exitCodeOf({ summary }: PreflightReport): 0 | 1 | 2 {
  const { same, differ, notCompared, writes, refused, differing, missingTools } = summary;
  if (notCompared > 0 && same + differ === 0) return 2;
  return differ + notCompared + writes + refused + differing + missingTools === 0 ? 0 : 1;
}

function applicationReport(app: Application, findings: PreflightFindings): ApplicationReport {
  const { installation, compared } = findings;
  const features = [...applicationFeatures(app, installation), ...foundByRendering(app, findings)];
  const common = {
    namespace: app.metadata.namespace ?? '',
    name: app.metadata.name ?? '',
    project: projectOf(app),
    features,
  };
  const theirs = { sync: app.status?.sync?.status ?? '', health: app.status?.health?.status ?? '' } as const;
  const nothing = { ...common, theirs, ours: null, differences: [], writes: [], conditions: [] };
  if (isLeftAlone(app, installation)) return { ...nothing, state: 'leftAlone', why: null };
  const verdict = compared.verdicts.get(appKeyOf(app));
  const why = whyNot(app, findings);
  if (verdict === undefined) {
    const late = `it took longer than ${findings.timeoutMs / 1000} s (--timeout)`;
    return { ...nothing, state: 'notCompared', why: why ?? late };
  }
  const state = stateOf(verdict, features, why);
  return { ...common, ...shown(verdict), state, why: state === 'notCompared' ? (why ?? null) : null };
}

function stateOf(
  { ours, disagreements, writes }: ShadowVerdict,
  features: readonly UsedFeature[],
  why: string | undefined,
): ApplicationReport['state'] {
  const differs = disagreements.length + writes.length > 0;
  if (differs && ours.sync === 'Unknown' && why !== undefined) return 'notCompared';
  return differs || features.some(({ severity }) => severity !== 'info') ? 'differs' : 'same';
}

/** Removes parts of a verdict that error texts may have leaked into. */
function shown(
  verdict: ShadowVerdict,
): Pick<ApplicationReport, 'theirs' | 'ours' | 'differences' | 'writes' | 'dropped' | 'conditions'> {
  const { theirs, ours, disagreements, writes, dropped, conditions } = verdict;
  return {
    theirs,
    ours,
    differences: disagreements.map((each) => ({
      ...each,
      theirs: outsideText('field', each.theirs),
      ours: outsideText('field', each.ours),
    })),
    writes,
    ...(dropped === undefined ? {} : { dropped }),
    conditions: conditions.map(({ type, message }) => ({ type, message: outsideText('field', message) })),
  };
}

/** Features that Argo CD supports and this controller refuses, by the error code of the refusal. */
const refusals: Readonly<Record<string, UsedFeature['row']>> = {
  DESIRED_UNSUPPORTED: rows.otherTypes,
  DESIRED_PLUGIN_MISSING: rows.otherTypes,
  DESIRED_EXEC_PLUGIN: rows.execPlugins,
  DESIRED_HELM_PLUGIN: rows.helmPlugins,
  DESIRED_DECRYPTION: renderingRows.encrypted,
};

/** A source that is refused for what only rendering detected. */
function foundByRendering(app: Application, { installation, compared }: PreflightFindings): readonly UsedFeature[] {
  const failure = compared.failures.get(appKeyOf(app));
  const row = failure === undefined ? undefined : refusals[failure.code];
  if (failure === undefined || row === undefined) return [];
  const isKnown = applicationFeatures(app, installation).some(
    (found) => found.row === row && (found.severity === 'refused' || row === rows.otherTypes),
  );
  if (isKnown) return [];
  const where = app.spec.sources === undefined ? 'spec.source' : 'spec.sources';
  return [{ feature: outsideText('field', failure.message), where, severity: 'refused', row }];
}

/**
 * Errors of the connection to a repository or of this machine; the repository's contents may be
 * fine.
 */
const unreadable: ReadonlySet<string> = new Set([
  'DESIRED_REPOSITORY',
  'DESIRED_MIRROR',
  'DESIRED_DISK',
  'COMMAND_NOT_FOUND',
  'COMMAND_TIMEOUT',
  'COMMAND_FAILED',
  'DEADLINE_EXCEEDED',
]);

/** Names the first input of the Application that is unreadable; undefined if all were read. */
function whyNot(app: Application, { installation, compared }: PreflightFindings): string | undefined {
  const cluster = clusterOf(app, installation);
  const info = compared.clusters.find(({ server }) => server === cluster?.server);
  if (info !== undefined && info.state !== 'synced')
    return `cluster ${outsideText('field', cluster?.name ?? '')} could not be read${info.message === undefined ? '' : `: ${outsideText('field', info.message)}`}`;
  const failure = compared.failures.get(appKeyOf(app));
  return failure !== undefined && unreadable.has(failure.code)
    ? `repository ${outsideText('url', failure.url)} could not be read: ${outsideText('field', failure.message)}`
    : undefined;
}

function clusterReports({ installation, applications, compared }: PreflightFindings): readonly ClusterReport[] {
  return compared.clusters.flatMap((info): ClusterReport[] => {
    const message = clusterMessage(info);
    if (message === undefined) return [];
    const users = applications.filter((app) => clusterOf(app, installation)?.server === info.server);
    const name = installation.clusters.find(({ server }) => server === info.server)?.name ?? '';
    return [{ server: outsideText('url', info.server), name, ...message, applications: users.length }];
  });
}

function clusterMessage(info: ClusterInfo): Pick<ClusterReport, 'message' | 'hint'> | undefined {
  if (info.state !== 'synced')
    return {
      message: outsideText('field', info.message ?? 'it was still being read when the time was over'),
      hint: 'look whether it can be reached from here with the credentials of its Secret; run preflight where the controller will run',
    };
  const bad = info.kinds.filter(({ state }) => state === 'degraded' || state === 'forbidden');
  const leftOut = info.kinds.filter(({ state }) => state === 'left-out');
  if (bad.length > 0)
    return {
      message: `${bad.length} kinds could not be listed: ${someOf(bad)}`,
      hint: 'the account of its Secret needs get, list and watch on them; nothing of these kinds is ever pruned meanwhile',
    };
  if (leftOut.length === 0) return undefined;
  return {
    message: `${leftOut.length} kinds are left out: ${someOf(leftOut)}`,
    hint: 'Applications that deploy them need at least get on them, and changes of them are seen at the next refresh only; nothing of these kinds is pruned',
  };
}

function someOf(kinds: readonly KindState[]): string {
  const first = kinds
    .slice(0, 3)
    .map(
      ({ group, kind, message = '' }) =>
        `${group === '' ? kind : `${group}/${kind}`}${message === '' ? '' : `: ${outsideText('field', message)}`}`,
    );
  return `${first.join('; ')}${kinds.length > first.length ? `, and ${kinds.length - first.length} more` : ''}`;
}

/** One report per repository, with its last error. */
function repositoryReports({ applications, compared }: PreflightFindings): readonly RepositoryReport[] {
  const found = new Map<string, RepositoryReport>();
  for (const app of applications) {
    const failure = compared.failures.get(appKeyOf(app));
    if (failure === undefined || !unreadable.has(failure.code)) continue;
    const url = outsideText('url', failure.url);
    found.set(url, {
      url,
      message: outsideText('field', failure.message),
      hint: 'look whether it can be reached from here with the credentials of its Secret',
      applications: (found.get(url)?.applications ?? 0) + 1,
    });
  }
  return [...found.values()];
}
