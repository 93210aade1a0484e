import { ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { HealthStatus } from '#model';
import { check, condition, empty, outcome, staleCondition } from './check.ts';
import type { CodeRule, HealthRule } from './check.ts';
import { scalarText } from './view.ts';
import type { ObjectView } from './view.ts';

interface PromoterTexts {
  /** `Initializing …` */
  readonly init: string;
  /** `Waiting for … spec update to be observed` */
  readonly spec: string;
  /** Message when there is no Ready condition. */
  readonly unready: string;
  /** `… reconciliation failed` */
  readonly failed: string;
  readonly notReady: string;
  readonly unknown: string;
}

/** All GitOps Promoter objects have a Ready condition with an observed generation. */
const common = ({ init, spec, unready, failed, notReady, unknown }: PromoterTexts): readonly HealthRule[] => [
  ['Progressing', { on: 'not', of: { on: 'present', path: 'status' } }, `Initializing ${init}`],
  ['Progressing', staleCondition('Ready'), `Waiting for ${spec} spec update to be observed`],
  ['Degraded', condition('Ready', 'False', 'ReconciliationError'), `${failed}: {@Ready.message}`],
  ['Degraded', condition('Ready', 'False'), `${notReady} ({@Ready.reason}): {@Ready.message}`],
  ['Progressing', condition('Ready', 'Unknown'), `${unknown} ({@Ready.reason}): {@Ready.message}`],
  ['Progressing', { on: 'not', of: condition('Ready') }, unready],
];

const lower = (name: string): PromoterTexts => ({
  init: name.toLowerCase(),
  spec: name.toLowerCase(),
  unready: `${name} is not ready yet`,
  failed: `${name} reconciliation failed`,
  notReady: `${name} reconciliation failed`,
  unknown: `${name} readiness unknown`,
});

const titled = (kind: string, init: string, title: string, failed: string): PromoterTexts => ({
  init,
  spec: kind,
  unready: `${kind} Ready condition is missing`,
  failed: `${title} ${failed}`,
  notReady: `${title} ${failed === 'failed' ? 'not ready' : failed}`,
  unknown: `${title} readiness unknown`,
});

function sha(value: Json | undefined, ...path: readonly string[]): string {
  let at: Json | undefined = value;
  for (const part of path)
    at = typeof at === 'object' && at !== null && !Array.isArray(at) ? ownMember(at as JsonObject, part) : undefined;
  return scalarText(at);
}

const short = (text: string): string => text.slice(0, 7);

function phases(owner: Json | undefined): readonly { readonly key: string; readonly phase: string }[] {
  const list =
    typeof owner === 'object' && owner !== null && !Array.isArray(owner)
      ? ownMember(owner as JsonObject, 'commitStatuses')
      : null;
  if (!Array.isArray(list)) return [];
  return (list as readonly Json[]).map((item) => ({ key: sha(item, 'key'), phase: sha(item, 'phase') }));
}

/**
 * State of one environment: a promotion in progress, otherwise the commit statuses of the active
 * commit.
 */
function promotion(
  active: Json | undefined,
  proposed: Json | undefined,
  where: string,
  tail: string,
): HealthStatus | undefined {
  const [from, to] = [sha(active, 'dry', 'sha'), sha(proposed, 'dry', 'sha')];
  const checks = from === to ? phases(active) : phases(proposed);
  const of = (phase: string) => checks.filter((item) => item.phase === phase);
  const names = (phase: string): string =>
    of(phase)
      .map((item) => item.key)
      .join(', ');
  const [pending, successful, failed] = [of('pending').length, of('success').length, of('failure').length];
  const pendingText = pending > 0 ? ` Pending commit statuses: ${names('pending')}.` : '';
  const counts = `${pending} pending, ${successful} successful, ${failed} failed.${pendingText}`;
  const failedText = failed > 0 ? ` Failed commit statuses: ${names('failure')}.` : '';
  const text = `${counts}${failedText}${tail} `;
  if (from !== to) {
    const what = `${where}from '${short(from)}' to '${short(to)}': ${text}`;
    return failed > 0 && pending === 0
      ? outcome('Degraded', `Promotion failed ${what}`)
      : outcome('Progressing', `Promotion in progress ${what}`);
  }
  if (failed > 0 && pending === 0)
    return outcome('Degraded', `Environment degraded ${where}on commit '${short(from)}': ${text}`);
  return failed > 0 || pending > 0
    ? outcome('Progressing', `Environment progressing ${where}on commit '${short(from)}': ${text}`)
    : undefined;
}

const transfer: CodeRule = {
  description:
    'Progressing while the proposed and the active commit differ or a commit status is pending, Degraded when one failed',
  evaluate: (view) => {
    const [active, proposed] = [view.get(['status', 'active']), view.get(['status', 'proposed'])];
    if (sha(active, 'dry', 'sha') === '')
      return outcome('Progressing', 'The active commit DRY SHA is missing or empty.');
    if (sha(proposed, 'dry', 'sha') === '')
      return outcome('Progressing', 'The proposed commit DRY SHA is missing or empty.');
    return (
      promotion(active, proposed, '', '') ??
      outcome('Healthy', `Environment is up-to-date on commit ${short(sha(active, 'dry', 'sha'))}.`)
    );
  },
};

/**
 * The hydrator may have processed a commit that changed nothing. Its note names that commit, so
 * compare the note first.
 */
const strategy: CodeRule = {
  description:
    'Progressing until every environment has the proposed commit and its commit statuses succeed, Degraded when one failed',
  evaluate: (view) => {
    const environments = view.list('status.environments').map((item) => ({
      branch: scalarText(item['branch']),
      active: item['active'],
      proposed: item['proposed'],
    }));
    if (environments.length === 0)
      return outcome('Progressing', 'The active commit DRY SHA is missing or empty in environments.');
    for (const side of ['active', 'proposed'] as const) {
      if (environments.some((item) => sha(item[side], 'dry', 'sha') === ''))
        return outcome('Progressing', `The ${side} commit DRY SHA is missing or empty in environments.`);
    }
    const hydrated = environments.map(
      (item) => sha(item.proposed, 'note', 'drySha') || sha(item.proposed, 'dry', 'sha'),
    );
    if (new Set(hydrated).size > 1)
      return outcome(
        'Progressing',
        'Not all environments have the same proposed commit SHA. This likely means the hydrator has not run for all environments yet.',
      );
    const note = ` Hydrator has processed dry commit '${short(hydrated[0] ?? '')}'.`;
    for (const { branch, active, proposed } of environments) {
      const found = promotion(active, proposed, `for environment '${branch}' `, note);
      if (found !== undefined) return found;
    }
    return outcome(
      'Healthy',
      `All environments are up-to-date on commit '${short(sha(environments[0]?.active, 'dry', 'sha'))}'.${note}`,
    );
  },
};

/** Gates: one phase for each environment. */
const gate = (title: string, reconciled: string, passed: string): CodeRule => ({
  description: 'Degraded when an environment failed, Progressing while one is pending',
  evaluate: (view) => {
    const environments = view.list('status.environments');
    const of = (phase: string): string =>
      environments
        .filter((item) => item['phase'] === phase)
        .map((item) => scalarText(item['branch']))
        .join(', ');
    if (environments.length === 0) return outcome('Healthy', reconciled);
    if (of('failure') !== '') return outcome('Degraded', `${title} failed for branch(es): ${of('failure')}`);
    if (of('pending') !== '') return outcome('Progressing', `${title} pending for branch(es): ${of('pending')}`);
    return outcome('Healthy', `${passed} for ${environments.length} environment(s)`);
  },
});

const tracked: CodeRule = {
  description: 'Degraded when it selects no Application',
  evaluate: (view: ObjectView) => {
    const count = view.list('status.applicationsSelected').length;
    return count === 0
      ? outcome('Degraded', 'Argo CD commit status has no applications configured')
      : outcome('Healthy', `Argo CD commit status is healthy and is tracking ${count} applications`);
  },
};

const reported: readonly HealthRule[] = [
  [
    'Progressing',
    { on: 'any', of: [empty('status.sha'), empty('status.phase')] },
    'Waiting for the commit status to be reported',
  ],
];

const of = (kind: string): string => `promoter.argoproj.io/${kind}`;

/**
 * GitOps Promoter. Objects that are being deleted are Progressing before any of these rules
 * applies.
 */
export const promoter = [
  check(of('ArgoCDCommitStatus'), [
    ...common({ ...lower('Argo CD commit status'), init: 'Argo CD commit status', spec: 'Argo CD commit status' }),
    tracked,
  ]),
  check(of('ChangeTransferPolicy'), [...common(lower('Change transfer policy')), transfer]),
  check(
    of('CommitStatus'),
    [...common(lower('Commit status')), ...reported],
    ['Healthy', 'Commit status for commit {status.sha} reports {status.phase}'],
  ),
  check(of('PromotionStrategy'), [...common(lower('Promotion strategy')), strategy]),
  check(of('PullRequest'), common(lower('Pull request')), ['Healthy', 'Pull request is {status.state}']),
  check(of('GitRepository'), common(titled('GitRepository', 'Git repository', 'Git repository', 'validation failed')), [
    'Healthy',
    'Git repository is ready',
  ]),
  check(of('ScmProvider'), common(titled('ScmProvider', 'SCM provider', 'SCM provider', 'validation failed')), [
    'Healthy',
    'SCM provider is ready',
  ]),
  check(
    of('ClusterScmProvider'),
    common(titled('ClusterScmProvider', 'cluster SCM provider', 'Cluster SCM provider', 'validation failed')),
    ['Healthy', 'Cluster SCM provider is ready'],
  ),
  check(of('GitCommitStatus'), [
    ...common({
      ...titled('GitCommitStatus', 'git commit validation', 'Git commit validation', 'failed'),
      unknown: 'Git commit validation status unknown',
    }),
    gate('Git commit validation', 'Git commit validation reconciled', 'Git commit validation passed'),
  ]),
  check(of('TimedCommitStatus'), [
    ...common(titled('TimedCommitStatus', 'timed commit gate', 'Timed commit gate', 'failed')),
    gate('Timed commit gate', 'Timed commit gate reconciled', 'Timed commit gate passed'),
  ]),
  check(of('WebRequestCommitStatus'), [
    ...common(
      titled('WebRequestCommitStatus', 'web request commit validation', 'Web request commit validation', 'failed'),
    ),
    gate('Web request validation', 'Web request commit validation reconciled', 'Web request validation passed'),
  ]),
];
