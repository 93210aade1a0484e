import type { HealthStatus } from '#model';
import {
  absent,
  all,
  check,
  condition,
  field,
  not,
  on,
  outcome,
  present,
  states,
  truthy,
  unlisted,
  unreadable,
  walk,
  walkBack,
} from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import type { ObjectView } from './rules/view.ts';

/** Text that holds a whole number; before Rollouts 1.0 an observed generation was a hash. */
function wholeNumber(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** A hash may look like a number: one greater than the generation does not mean a stale status. */
const rolloutSeen: CodeRule = {
  description: 'Progressing when the generation, or that of the workload it refers to, is not observed',
  evaluate: (view) => {
    const waiting = outcome('Progressing', 'Waiting for rollout spec update to be observed');
    if (!view.has('status')) return waiting;
    const seen = wholeNumber(view.text('status.observedGeneration'));
    if (seen !== undefined && seen < (view.generation ?? 0)) return waiting;
    if (!view.has('spec.workloadRef') || !view.has('metadata.annotations')) return undefined;
    const workload = wholeNumber(view.text('metadata.annotations[rollout.argoproj.io/workload-generation]'));
    return workload === wholeNumber(view.text('status.workloadObservedGeneration')) ? undefined : waiting;
  },
};

/** Rollouts before 1.0 have no phase: derive the health from the replica counts. */
const rolloutReplicas: CodeRule = {
  description: 'without a phase: Progressing until all replicas are updated and available and the cutover is done',
  evaluate: (view) => {
    const waiting = (what: string) => outcome('Progressing', `Waiting for roll out to finish: ${what}`);
    const count = (name: string): number => view.number(`status.${name}`) ?? 0;
    if (count('updatedReplicas') < (view.number('spec.replicas') ?? 1))
      return waiting('More replicas need to be updated');
    if (count('availableReplicas') < count('updatedReplicas'))
      return waiting('updated replicas are still becoming available');
    const stable = view.has('status.stableRS') ? view.text('status.stableRS') : view.text('status.canary.stableRS');
    if (view.has('spec.strategy.blueGreen')) return blueGreenCutover(view, stable);
    if (!view.has('spec.strategy.canary')) return undefined;
    if (count('replicas') > count('updatedReplicas')) return waiting('old replicas are pending termination');
    return stable === '' || stable !== view.text('status.currentPodHash')
      ? outcome('Progressing', 'Waiting for rollout to finish steps')
      : undefined;
  },
};

function blueGreenCutover(view: ObjectView, stable: string): HealthStatus | undefined {
  if (!view.has('status.blueGreen') || !view.isSame('status.blueGreen.activeSelector', 'status.currentPodHash'))
    return outcome('Progressing', 'active service cutover pending');
  return stable !== '' && stable !== view.text('status.currentPodHash')
    ? outcome('Progressing', 'waiting for analysis to complete')
    : undefined;
}

const phased = (...codes: readonly ('Healthy' | 'Degraded' | 'Progressing' | 'Suspended' | 'Missing' | 'Unknown')[]) =>
  codes.map((code): HealthRule => [code, field('status.phase', code), '{status.message}']);

const earlierThanScheduled: CodeRule = {
  description: 'Degraded when lastSuccessfulTime is before lastScheduleTime',
  evaluate: (view) =>
    view.text('status.lastSuccessfulTime') < view.text('status.lastScheduleTime')
      ? outcome('Degraded', 'CronJob has not completed its last execution successfully')
      : undefined,
};

const activeJobs: CodeRule = {
  description: 'Healthy while a job is active',
  evaluate: (view) =>
    view.count('status.active') > 0
      ? outcome('Healthy', 'The job is running. Its last execution may not have been successful')
      : undefined,
};

const pauseConditions: CodeRule = {
  description: 'Suspended when it has pause conditions',
  evaluate: (view) =>
    view.count('status.pauseConditions') > 0 ? outcome('Suspended', 'Rollout is paused') : undefined,
};

const keptn = (kind: string, path: string) =>
  check(
    `lifecycle.keptn.sh/${kind}`,
    [
      unreadable(absent('status'), 2, path.replace('status.', '')),
      ...states(path, { Succeeded: ['Healthy', `${kind} is healthy`], Failed: ['Degraded', `${kind} is degraded`] }),
    ],
    ['Progressing', `${kind} is progressing`],
  );

/** The Argo projects, Keptn, and kinds of Kubernetes itself that have no built-in check. */
export const argo = [
  check(
    'argoproj.io/AnalysisRun',
    states('status.phase', {
      'Pending|Running': ['Progressing', 'Analysis run is running'],
      Successful: ['Healthy', "{status.message|'Analysis run completed successfully'}"],
      Failed: ['Degraded', "{status.message|'Analysis run failed'}"],
      Error: ['Degraded', "{status.message|'Analysis run had an error'}"],
      Inconclusive: ['Unknown', "{status.message|'Analysis run was inconclusive'}"],
    }),
    ['Progressing', 'Waiting for analysis run to finish: status has not been reconciled.'],
  ),
  check(
    'argoproj.io/Experiment',
    states('status.phase', {
      Pending: ['Progressing', 'Experiment is pending'],
      Running: ['Progressing', 'Experiment is running'],
      Successful: ['Healthy', 'Experiment is successful'],
      Failed: ['Degraded', 'Experiment has failed'],
      Error: ['Degraded', 'Experiment had an error'],
    }),
    ['Progressing', 'Waiting for experiment to finish: status has not been reconciled.'],
  ),
  check(
    'argoproj.io/ApplicationSet',
    [
      ['Degraded', condition('ErrorOccurred'), '{it.message}'],
      ['Degraded', condition('ResourcesUpToDate', 'False'), '{it.message}'],
      ['Progressing', condition('RolloutProgressing'), '{it.message}'],
      ['Healthy', condition('ResourcesUpToDate'), '{it.message}'],
    ],
    ['Progressing', 'Waiting for the status to be reported'],
  ),
  check(
    'argoproj.io/CronWorkflow',
    [
      walk([
        ['Degraded', on('SpecError|SubmissionError'), '{it.message}'],
        ['Healthy', on('Completed'), '{it.message}'],
      ]),
    ],
    ['Healthy', 'CronWorkflow is healthy.'],
  ),
  check(
    'argoproj.io/EventBus',
    [
      walk([
        ['Degraded', on('Deployed', 'False'), '{it.message|it.reason}'],
        ['Healthy', on('Deployed'), '{it.message|it.reason}'],
      ]),
    ],
    ['Progressing', 'Waiting for initialization'],
  ),
  check(
    'argoproj.io/Rollout',
    [
      rolloutSeen,
      ['Suspended', field('status.phase', 'Paused'), '{status.message}'],
      ...phased('Healthy', 'Degraded', 'Progressing', 'Suspended', 'Missing', 'Unknown'),
      ['Unknown', present('status.phase'), 'Lua returned an invalid health status'],
      unlisted(absent('status.conditions'), 100),
      walk([
        ['Degraded', on('InvalidSpec', ''), '{it.message}'],
        ['Degraded', on('Progressing', '', 'RolloutAborted|ProgressDeadlineExceeded'), '{it.message}'],
      ]),
      pauseConditions,
      ['Suspended', truthy('spec.paused'), 'Rollout is paused'],
      [
        'Progressing',
        absent('status.currentPodHash'),
        'Waiting for rollout to finish: status has not been reconciled.',
      ],
      rolloutReplicas,
    ],
    ['Healthy'],
  ),
  check(
    'batch/CronJob',
    [
      unreadable(absent('spec'), 3, 'suspend'),
      ['Healthy', field('spec.suspend', true), 'CronJob is Suspended'],
      ['Progressing', absent('status'), 'Waiting for CronJob'],
      ['Healthy', absent('status.lastScheduleTime'), 'CronJob has not been scheduled yet'],
      [
        'Healthy',
        absent('status.lastSuccessfulTime'),
        'The CronJob never completed successfully. It may not be healthy',
      ],
      activeJobs,
      earlierThanScheduled,
    ],
    ['Healthy', 'CronJob has completed its last execution successfully'],
  ),
  check(
    'policy/PodDisruptionBudget',
    [
      walk([['Degraded', on('', 'False', '!InsufficientPods'), 'PodDisruptionBudget has {it.reason}']]),
      walkBack([['Healthy', on('', ''), 'PodDisruptionBudget has {it.reason}']]),
    ],
    ['Progressing', 'Waiting for status'],
  ),
  check(
    'apiextensions.k8s.io/CustomResourceDefinition',
    [
      unreadable(absent('status'), 10, 'conditions'),
      ['Progressing', not(condition('', '')), 'Status conditions not found'],
      walk([
        ['Progressing', on('Terminating'), 'CRD is terminating: {it.message}'],
        ['Degraded', on('NamesAccepted', 'False'), 'CRD names have not been accepted: {it.message}'],
        ['Degraded', on('NonStructuralSchema'), 'Schema violations found: {it.message}'],
        ['Degraded', on('Established', '!True', 'InvalidCABundle'), 'CRD is not established: {it.message}'],
        ['Progressing', on('Established', '!True', 'Installing'), 'CRD is being installed'],
      ]),
      ['Healthy', condition('Established'), 'CRD is healthy'],
    ],
    ['Progressing', 'CRD is not established'],
  ),
  ...['KeptnAppVersion', 'KeptnTask', 'KeptnWorkloadInstance', 'KeptnWorkloadVersion'].map((kind) =>
    keptn(kind, 'status.status'),
  ),
  keptn('KeptnEvaluation', 'status.overallStatus'),
  check(
    'metrics.keptn.sh/Analysis',
    [
      unreadable(absent('status'), 2, 'pass'),
      ['Healthy', field('status.pass', true), 'Analysis is healthy'],
      ['Healthy', field('status.warning', true), 'Analysis is healthy with warnings'],
      ['Degraded', field('status.pass', false), 'Analysis is degraded'],
    ],
    ['Progressing', 'Analysis is progressing'],
  ),
  check(
    'metrics.keptn.sh/KeptnMetric',
    [
      unreadable(absent('status'), 2, 'errMsg'),
      ['Degraded', all(present('status.errMsg'), not(field('status.errMsg', ''))), 'KeptnMetric is degraded'],
      ['Healthy', present('status.value'), 'KeptnMetric is healthy'],
    ],
    ['Progressing', 'KeptnMetric is progressing'],
  ),
];
