import { scrub } from '#base';
import type { Disagreement, PlannedWrite, Verdict } from '#controller';
import type { ClusterInfo } from '#live';
import { appKeyOf, projectOf, sourcesOf } from '#model';
import type { Application } from '#model';
import type { Compared } from './compare.ts';
import { applicationFeatures, installationFeatures } from './features.ts';
import type { Feature } from './features.ts';
import type { ReadInstallation } from './installation.ts';
import { clusterOf, isLeftAlone } from './selection.ts';
import type { Tool } from './tools.ts';

/**
 * The contract of `driftless preflight -o json`. Members are added, never renamed or taken away; `version` counts up when that has to be. No
 * member ever holds a value of a managed object.
 */
export interface Report {
  readonly version: 1;
  readonly namespace: string;
  /** The hub. */
  readonly server: string;
  readonly summary: Summary;
  readonly applications: readonly ApplicationReport[];
  /** Of the installation as a whole; those of Applications stand with them. */
  readonly features: readonly Feature[];
  /** Clusters that could not be read, or not wholly. */
  readonly clusters: readonly ClusterReport[];
  /** Repositories that could not be read. */
  readonly repositories: readonly RepositoryReport[];
  readonly tools: readonly (Omit<Tool, 'path' | 'version'> & {
    readonly path: string | null;
    readonly version: string | null;
    readonly missing: boolean;
  })[];
  readonly notes: readonly string[];
}

export interface Summary {
  readonly applications: number;
  readonly same: number;
  readonly differ: number;
  readonly notCompared: number;
  /** skip-reconcile: neither controller looks at them. */
  readonly leftAlone: number;
  readonly writes: number;
  /** Features in use by severity, those of Applications included. */
  readonly refused: number;
  readonly differing: number;
  readonly missingTools: number;
}

export interface ApplicationReport {
  readonly namespace: string;
  readonly name: string;
  readonly project: string;
  readonly state: 'same' | 'differs' | 'notCompared' | 'leftAlone';
  /** Why it was not compared, and what to do. */
  readonly why: string | null;
  readonly theirs: Verdict['theirs'];
  /** Null when it was not compared. */
  readonly ours: Verdict['ours'] | null;
  readonly differences: readonly Disagreement[];
  readonly writes: readonly PlannedWrite[];
  readonly conditions: Verdict['conditions'];
  readonly features: readonly Feature[];
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

export interface Findings {
  readonly server: string;
  readonly installation: ReadInstallation;
  readonly applications: readonly Application[];
  readonly compared: Compared;
  readonly tools: readonly Tool[];
  readonly timeoutMs: number;
}

/** Puts everything together. A pure function. */
export function reportOf(findings: Findings): Report {
  const { installation, tools } = findings;
  const applications = findings.applications.map((app) => applicationReport(app, findings));
  const features = installationFeatures(installation);
  const listed = tools.map(({ path, version, ...rest }) => ({
    ...{ ...rest, path: path ?? null, version: version ?? null, missing: path === undefined },
  }));
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
      refused: all.filter(({ severity }) => severity === 'refused').length,
      differing: all.filter(({ severity }) => severity === 'differs').length,
      missingTools: listed.filter(({ missing }) => missing).length,
    },
    applications,
    features,
    clusters: clusterReports(findings),
    repositories: repositoryReports(findings, applications),
    tools: listed,
    notes: installation.notes,
  };
}

/** 0: nothing differs. 1: something does. 2: there are Applications, and not one could be compared. */
export function exitCodeOf({ summary, applications }: Report): 0 | 1 | 2 {
  const { same, differ, notCompared, writes, refused, differing, missingTools } = summary;
  const looked = applications.some(({ state, ours }) => state !== 'notCompared' || ours !== null);
  if (notCompared > 0 && same + differ === 0 && !looked) return 2;
  return differ + notCompared + writes + refused + differing + missingTools === 0 ? 0 : 1;
}

function applicationReport(app: Application, findings: Findings): ApplicationReport {
  const { installation, compared } = findings;
  const verdict = compared.verdicts.get(appKeyOf(app));
  const features = applicationFeatures(app, installation);
  const common = {
    namespace: app.metadata.namespace ?? '',
    name: app.metadata.name ?? '',
    project: projectOf(app),
    features,
  };
  const theirs = { sync: app.status?.sync?.status ?? '', health: app.status?.health?.status ?? '' } as const;
  const nothing = { ...common, theirs, ours: null, differences: [], writes: [], conditions: [] };
  if (isLeftAlone(app, installation)) return { ...nothing, state: 'leftAlone', why: null };
  if (verdict === undefined) return { ...nothing, state: 'notCompared', why: whyNot(app, findings) };
  const differs =
    verdict.disagreements.length + verdict.writes.length > 0 || features.some(({ severity }) => severity !== 'info');
  return {
    ...common,
    state: differs ? 'differs' : 'same',
    why: null,
    theirs: verdict.theirs,
    ours: verdict.ours,
    differences: verdict.disagreements.map((each) => ({ ...each, theirs: scrub(each.theirs), ours: scrub(each.ours) })),
    writes: verdict.writes,
    conditions: verdict.conditions.map(({ type, message }) => ({ type, message: scrub(message) })),
  };
}

function whyNot(app: Application, { installation, compared, timeoutMs }: Findings): string {
  const cluster = clusterOf(app, installation);
  const info = compared.clusters.find(({ server }) => server === cluster?.server);
  if (info !== undefined && info.state !== 'synced')
    return `its cluster ${cluster?.name ?? ''} could not be read${info.message === undefined ? '' : `: ${scrub(info.message)}`}`;
  return `it took longer than ${timeoutMs / 1000} s; more time: --timeout`;
}

function clusterReports({ installation, applications, compared }: Findings): readonly ClusterReport[] {
  return compared.clusters.flatMap((info): ClusterReport[] => {
    const message = clusterMessage(info);
    if (message === undefined) return [];
    const users = applications.filter((app) => clusterOf(app, installation)?.server === info.server);
    const name = installation.clusters.find(({ server }) => server === info.server)?.name ?? '';
    return [{ server: scrub(info.server), name, ...message, applications: users.length }];
  });
}

function clusterMessage(info: ClusterInfo): Pick<ClusterReport, 'message' | 'hint'> | undefined {
  if (info.state !== 'synced')
    return {
      message: scrub(info.message ?? 'it was still being read when the time was over'),
      hint: 'look whether it can be reached from here with the credentials of its Secret; run preflight where the controller will run',
    };
  const bad = info.kinds.filter(({ state }) => state === 'degraded' || state === 'forbidden');
  if (bad.length === 0) return undefined;
  const first = bad
    .slice(0, 3)
    .map(
      ({ group, kind, message = '' }) =>
        `${group === '' ? kind : `${group}/${kind}`}${message === '' ? '' : `: ${scrub(message)}`}`,
    );
  const more = bad.length > first.length ? `, and ${bad.length - first.length} more` : '';
  return {
    message: `${bad.length} kinds could not be listed: ${first.join('; ')}${more}`,
    hint: 'the account of its Secret needs get, list and watch on them; nothing of these kinds is ever pruned meanwhile',
  };
}

/** Applications whose source could not be read although their cluster could, by what they read first. */
function repositoryReports(
  { applications }: Findings,
  reports: readonly ApplicationReport[],
): readonly RepositoryReport[] {
  const found = new Map<string, RepositoryReport>();
  reports.forEach((report, i) => {
    const app = applications[i];
    const failure = report.conditions.find(
      ({ type, message }) => type === 'ComparisonError' && message.startsWith('Failed to load target state'),
    );
    if (app === undefined || failure === undefined || report.features.some(({ severity }) => severity === 'refused'))
      return;
    const url = scrub(sourcesOf(app.spec)[0]?.repoURL ?? '');
    const before = found.get(url);
    found.set(url, {
      url,
      message: failure.message,
      hint: 'look whether it can be reached from here with the credentials of its Secret',
      applications: (before?.applications ?? 0) + 1,
    });
  });
  return [...found.values()];
}
