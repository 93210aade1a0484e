import { isObject, ownMember } from '#base';
import type { Json } from '#base';
import type { HealthStatus } from '#model';
import { absent, any, check, not, outcome, truthy } from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import type { ObjectView, StatusCondition } from './rules/view.ts';
import { scalarText } from './rules/view.ts';

/** Texts in which the kinds differ. */
interface PromoterTexts {
  readonly initializing: string;
  readonly spec: string;
  /** The types of condition that stand for readiness. */
  readonly types: readonly string[];
  readonly missing: string;
  readonly failed: string;
  readonly notReady: string;
  /** Absent: a condition that is Unknown does not decide. */
  readonly unknown?: string;
}

function messageOr(item: StatusCondition, name: string, text: string): string {
  const value = item.fields[name] ?? null;
  return value === null ? text : scalarText(value);
}

/** The rules that all kinds share: each readiness condition in its order, or that none is there. */
function common(texts: PromoterTexts): readonly HealthRule[] {
  return [
    ['Progressing', not(truthy('status')), `Initializing ${texts.initializing}`],
    {
      description: `by ${texts.types.join(' or ')}: Progressing when it is of another generation or missing, Degraded when False${texts.unknown === undefined ? '' : ', Progressing when Unknown'}`,
      evaluate: (view) => {
        const found = view.conditions.filter((item) => texts.types.includes(item.type));
        if (found.length === 0) return outcome('Progressing', texts.missing);
        for (const item of found) {
          const status = readiness(item, view, texts);
          if (status !== undefined) return status;
        }
        return undefined;
      },
    },
  ];
}

function readiness(item: StatusCondition, view: ObjectView, texts: PromoterTexts): HealthStatus | undefined {
  const [seen, generation] = [item.fields['observedGeneration'] ?? null, view.get(['metadata', 'generation'])];
  if (seen !== null && generation !== null && seen !== generation)
    return outcome('Progressing', `Waiting for ${texts.spec} spec update to be observed`);
  const reason = messageOr(item, 'reason', 'Unknown');
  if (item.status === 'False') {
    const message = messageOr(item, 'message', 'Unknown error');
    const isFailure = reason === 'ReconciliationError';
    return outcome('Degraded', isFailure ? `${texts.failed}: ${message}` : `${texts.notReady} (${reason}): ${message}`);
  }
  if (item.status !== 'Unknown' || texts.unknown === undefined) return undefined;
  return outcome('Progressing', `${texts.unknown} (${reason}): ${messageOr(item, 'message', 'Unknown')}`);
}

/** `Pull request`: one name for all texts. */
const named = (name: string, initializing = name.toLowerCase()): PromoterTexts => ({
  initializing,
  spec: initializing,
  types: ['Ready'],
  missing: `${name} is not ready yet`,
  failed: `${name} reconciliation failed`,
  notReady: `${name} reconciliation failed`,
});

/** The kind's name where the spec is meant, a title where the check is. */
const titled = (kind: string, initializing: string, title: string, failed: string): PromoterTexts => ({
  initializing,
  spec: kind,
  types: ['Ready'],
  missing: `${kind} Ready condition is missing`,
  failed: `${title} ${failed}`,
  notReady: `${title} not ready`,
  unknown: `${title} readiness unknown`,
});

/** Text at a path; '' for anything else. */
function at(value: Json | undefined, ...path: readonly string[]): string {
  let found: Json | undefined = value;
  for (const part of path) found = isObject(found) ? ownMember(found, part) : undefined;
  return scalarText(found);
}

const short = (text: string): string => text.slice(0, 7);

/** The commit statuses of a commit, by phase. */
interface CommitPhases {
  readonly pending: readonly string[];
  readonly success: readonly string[];
  readonly failure: readonly string[];
}

function commitPhases(commit: Json | undefined): CommitPhases {
  const list = isObject(commit) ? ownMember(commit, 'commitStatuses') : undefined;
  const items = Array.isArray(list) ? (list as readonly Json[]) : [];
  const of = (phase: string) => items.filter((item) => at(item, 'phase') === phase).map((item) => at(item, 'key'));
  return { pending: of('pending'), success: of('success'), failure: of('failure') };
}

/** `1 pending, 0 successful, 1 failed. Pending commit statuses: a. Failed commit statuses: b. ` */
function phasesText({ pending, success, failure }: CommitPhases): string {
  const counts = `${pending.length} pending, ${success.length} successful, ${failure.length} failed. `;
  const waiting = pending.length > 0 ? `Pending commit statuses: ${pending.join(', ')}. ` : '';
  const failed = failure.length > 0 ? `Failed commit statuses: ${failure.join(', ')}. ` : '';
  return `${counts}${waiting}${failed}`;
}

const transfer: CodeRule = {
  description:
    'Progressing while the active or the proposed commit is missing or they differ, else Healthy; the message counts the commit statuses',
  evaluate: (view) => {
    const [active, proposed] = [view.get(['status', 'active']), view.get(['status', 'proposed'])];
    const [from, to] = [at(active, 'dry', 'sha'), at(proposed, 'dry', 'sha')];
    if (from === '') return outcome('Progressing', 'The active commit DRY SHA is missing or empty.');
    if (to === '') return outcome('Progressing', 'The proposed commit DRY SHA is missing or empty.');
    if (from !== to)
      return outcome(
        'Progressing',
        `Promotion in progress from '${short(from)}' to '${short(to)}': ${phasesText(commitPhases(proposed))}`,
      );
    const phases = commitPhases(active);
    if (phases.pending.length === 0 && phases.failure.length === 0)
      return outcome('Healthy', `Environment is up-to-date on commit ${short(from)}.`);
    const text = phasesText(phases);
    return outcome(
      'Healthy',
      `Environment is up-to-date, but there are non-successful active commit statuses: ${text}`,
    );
  },
};

interface PromotionEnvironment {
  readonly branch: string;
  readonly active: Json | undefined;
  readonly proposed: Json | undefined;
  /** The commit that the hydrator has processed: its note names one that changed nothing. */
  readonly hydrated: string;
}

function environmentsOf(view: ObjectView): readonly PromotionEnvironment[] {
  return view.list('status.environments').map((item) => {
    const proposed = ownMember(item, 'proposed');
    return {
      branch: at(item, 'branch'),
      active: ownMember(item, 'active'),
      proposed,
      hydrated: at(proposed, 'note', 'drySha') || at(proposed, 'dry', 'sha'),
    };
  });
}

const strategy: CodeRule = {
  description:
    'Degraded without environments, Progressing until every environment has an active commit and the same proposed one, and during a promotion, else Healthy',
  evaluate: (view) => {
    const environments = environmentsOf(view);
    const [first] = environments;
    if (first === undefined) return outcome('Degraded', 'Promotion strategy has no environments configured');
    for (const { branch, active, hydrated } of environments) {
      const side = at(active, 'dry', 'sha') === '' ? 'active' : hydrated === '' ? 'proposed' : '';
      if (side !== '')
        return outcome('Progressing', `The ${side} commit DRY SHA is missing or empty in environment '${branch}'.`);
    }
    if (environments.some((item) => item.hydrated !== first.hydrated))
      return outcome(
        'Progressing',
        'Not all environments have the same proposed commit SHA. This likely means the hydrator has not run for all environments yet.',
      );
    return promotion(environments) ?? settled(environments, first);
  },
};

function promotion(environments: readonly PromotionEnvironment[]): HealthStatus | undefined {
  const found = environments.find((item) => at(item.proposed, 'dry', 'sha') !== at(item.active, 'dry', 'sha'));
  if (found === undefined) return undefined;
  const [from, to] = [at(found.active, 'dry', 'sha'), at(found.proposed, 'dry', 'sha')];
  const where = `for environment '${found.branch}' from '${short(from)}' to '${short(to)}'`;
  const note = `Hydrator has processed dry commit '${short(found.hydrated)}'. `;
  return outcome('Progressing', `Promotion in progress ${where}: ${phasesText(commitPhases(found.proposed))}${note}`);
}

function settled(environments: readonly PromotionEnvironment[], first: PromotionEnvironment): HealthStatus {
  const open = environments.flatMap(({ branch, active }) => {
    const { pending, failure } = commitPhases(active);
    return pending.length + failure.length === 0
      ? []
      : [`${branch} (${failure.length} failed, ${pending.length} pending)`];
  });
  if (open.length > 0)
    return outcome(
      'Healthy',
      `Environments are up-to-date, but some environments have non-successful commit statuses: ${open.join(', ')}.`,
    );
  const commit = short(at(first.active, 'dry', 'sha'));
  const note = `Hydrator has processed dry commit '${short(first.hydrated)}'.`;
  return outcome('Healthy', `All environments are up-to-date on commit '${commit}'. ${note}`);
}

/** Gates: one phase for each environment. A phase that is not known counts as pending. */
const gate = (title: string, reconciled: string, passed: string): CodeRule => ({
  description: 'Degraded when an environment failed, Progressing while one is pending, else Healthy',
  evaluate: (view) => {
    const environments = view.list('status.environments').map((item) => ({
      branch: at(item, 'branch') || '?',
      phase: at(item, 'phase') || 'pending',
    }));
    if (environments.length === 0) return outcome('Healthy', reconciled);
    const names = (list: typeof environments): string => list.map((item) => item.branch).join(', ');
    const failed = environments.filter((item) => item.phase === 'failure');
    if (failed.length > 0) return outcome('Degraded', `${title} failed for branch(es): ${names(failed)}`);
    const pending = environments.filter((item) => item.phase !== 'success');
    if (pending.length > 0) return outcome('Progressing', `${title} pending for branch(es): ${names(pending)}`);
    return outcome('Healthy', `${passed} for ${environments.length} environment(s)`);
  },
});

const tracked: CodeRule = {
  description: 'Degraded when it selects no Application',
  evaluate: (view: ObjectView) => {
    const count = view.count('status.applicationsSelected');
    return count === 0
      ? outcome('Degraded', 'Argo CD commit status has no applications configured')
      : outcome('Healthy', `Argo CD commit status is healthy and is tracking ${count} applications`);
  },
};

const keyOf = (kind: string): string => `promoter.argoproj.io/${kind}`;

/**
 * GitOps Promoter. Objects that are being deleted are Progressing before any of these rules
 * applies.
 */
export const promoter = [
  check(keyOf('ArgoCDCommitStatus'), [...common(named('Argo CD commit status', 'Argo CD commit status')), tracked]),
  check(keyOf('ChangeTransferPolicy'), [...common(named('Change transfer policy')), transfer]),
  check(
    keyOf('CommitStatus'),
    [
      ...common(named('Commit status')),
      ['Healthy', any(absent('status.sha'), absent('status.phase')), 'Commit status is healthy'],
    ],
    ['Healthy', 'Commit status for commit {status.sha} reports {status.phase}'],
  ),
  check(keyOf('PromotionStrategy'), [...common(named('Promotion strategy')), strategy]),
  check(
    keyOf('PullRequest'),
    [
      ...common({ ...named('Pull request'), types: ['Reconciled', 'Ready'] }),
      ['Healthy', any(absent('status.id'), absent('status.state')), 'Pull request is healthy'],
    ],
    ['Healthy', 'Pull request is {status.state} as PR {status.id}'],
  ),
  check(
    keyOf('GitRepository'),
    common(titled('GitRepository', 'Git repository', 'Git repository', 'validation failed')),
    ['Healthy', 'Git repository is ready'],
  ),
  check(keyOf('ScmProvider'), common(titled('ScmProvider', 'SCM provider', 'SCM provider', 'validation failed')), [
    'Healthy',
    'SCM provider is ready',
  ]),
  check(
    keyOf('ClusterScmProvider'),
    common(titled('ClusterScmProvider', 'cluster SCM provider', 'Cluster SCM provider', 'validation failed')),
    ['Healthy', 'Cluster SCM provider is ready'],
  ),
  check(keyOf('GitCommitStatus'), [
    ...common({
      ...titled('GitCommitStatus', 'git commit validation', 'Git commit validation', 'failed'),
      unknown: 'Git commit validation status unknown',
    }),
    gate('Git commit validation', 'Git commit validation reconciled', 'Git commit validation passed'),
  ]),
  check(keyOf('TimedCommitStatus'), [
    ...common({
      ...titled('TimedCommitStatus', 'timed commit gate', 'Timed commit gate', 'failed'),
      unknown: 'Timed commit gate status unknown',
    }),
    gate('Timed commit gate', 'Timed commit gate reconciled', 'Timed commit gate satisfied'),
  ]),
  check(keyOf('WebRequestCommitStatus'), [
    ...common({
      ...titled('WebRequestCommitStatus', 'web request commit validation', 'Web request commit validation', 'failed'),
      unknown: 'Web request commit validation unknown',
    }),
    gate('Web request validation', 'Web request commit validation reconciled', 'Web request validation passed'),
  ]),
];
