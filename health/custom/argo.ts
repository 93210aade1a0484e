import type { ObjectView } from './view.ts';
import { all, any, check, condition, empty, field, outcome, present, someCondition } from './check.ts';
import type { CodeRule } from './check.ts';

const runPhases = (name: string, unknown: string) =>
  check(
    `argoproj.io/${name}`,
    [
      ...(name === 'Experiment'
        ? ([
            ['Progressing', empty('status'), 'Waiting for experiment to finish: status has not been reconciled.'],
          ] as const)
        : []),
      [
        'Healthy',
        all(field('status.phase', 'Successful'), empty('status.message')),
        `${unknown} ${name === 'Experiment' ? 'is successful' : 'completed successfully'}`,
      ],
      ['Healthy', field('status.phase', 'Successful'), '{status.message}'],
      ['Degraded', all(field('status.phase', 'Failed'), empty('status.message')), `${unknown} failed`],
      ['Degraded', all(field('status.phase', 'Error'), empty('status.message')), `${unknown} had an error`],
      ['Degraded', field('status.phase', 'Failed', 'Error'), '{status.message}'],
      ['Unknown', all(field('status.phase', 'Inconclusive'), empty('status.message')), `${unknown} was inconclusive`],
      ['Unknown', field('status.phase', 'Inconclusive'), '{status.message}'],
      ['Progressing', field('status.phase', 'Running'), `${unknown} is running`],
      ['Progressing', field('status.phase', 'Pending'), `${unknown} is pending`],
    ],
    ['Progressing', `Waiting for ${unknown.toLowerCase()} to finish: status has not been reconciled.`],
  );

/**
 * A Rollout reports its observed generation as text. Before 1.0 it was a hash, which may look like
 * a number: one greater than the generation is such a hash and does not mean that the status is
 * stale.
 */
const rolloutSeen: CodeRule = {
  description: 'Progressing when the generation, or that of the workload it refers to, is not observed',
  evaluate: (view) => {
    const waiting = outcome('Progressing', 'Waiting for rollout spec update to be observed');
    const seen = view.text('status.observedGeneration');
    if (seen === '') return waiting;
    if (/^\d+$/.test(seen) && (view.generation ?? 0) > Number(seen)) return waiting;
    const workload = view.annotation('rollout.argoproj.io/workload-generation');
    return workload !== '' && workload !== view.text('status.workloadObservedGeneration') ? waiting : undefined;
  },
};

/** Rollouts before 1.0 have no phase: derive the health from the replica counts. */
const rolloutReplicas: CodeRule = {
  description:
    'without a phase: Progressing until all replicas are updated and available and the last step or the cutover is done, else Healthy',
  evaluate: (view) => {
    const waiting = (what: string) => outcome('Progressing', `Waiting for roll out to finish: ${what}`);
    const count = (name: string): number => view.number(`status.${name}`) ?? 0;
    const blueGreen = view.has('spec.strategy.blueGreen');
    if (count('updatedReplicas') < (view.number('spec.replicas') ?? 1))
      return waiting('More replicas need to be updated');
    if (!blueGreen && count('replicas') > count('updatedReplicas'))
      return waiting('old replicas are pending termination');
    if (count('availableReplicas') < count('updatedReplicas'))
      return waiting('updated replicas are still becoming available');
    return blueGreen ? blueGreenCutover(view, waiting) : canarySteps(view, waiting);
  },
};

function blueGreenCutover(view: ObjectView, waiting: (what: string) => ReturnType<typeof outcome>) {
  const active = view.text('status.blueGreen.activeSelector') || view.text('status.activeSelector');
  return active !== '' && active !== view.text('status.currentPodHash')
    ? waiting('active service cutover pending')
    : outcome('Healthy');
}

function canarySteps(view: ObjectView, waiting: (what: string) => ReturnType<typeof outcome>) {
  const stable = view.text('status.stableRS') || view.text('status.canary.stableRS');
  const steps = view.list('spec.strategy.canary.steps').length;
  const step = view.number('status.currentStepIndex');
  if (steps > 0 && step !== undefined && step < steps && stable !== view.text('status.currentPodHash'))
    return waiting('waiting for all steps to complete');
  return outcome('Healthy');
}

const cronJob: CodeRule = {
  description: 'Degraded when the last execution failed and no job is active',
  evaluate: (view) => {
    const scheduled = view.text('status.lastScheduleTime');
    if (view.list('status.active').length > 0)
      return outcome('Healthy', 'The job is running. Its last execution may not have been successful');
    const succeeded = view.text('status.lastSuccessfulTime');
    if (succeeded === '') return outcome('Healthy', 'CronJob has not completed its first execution yet');
    if (succeeded < scheduled) return outcome('Degraded', 'CronJob has not completed its last execution successfully');
    return outcome('Healthy', 'CronJob has completed its last execution successfully');
  },
};

/** The Argo projects, and kinds of Kubernetes itself that have no built-in check. */
export const argo = [
  runPhases('AnalysisRun', 'Analysis run'),
  runPhases('Experiment', 'Experiment'),
  check(
    'argoproj.io/ApplicationSet',
    [
      ['Degraded', condition('ErrorOccurred'), '{@ErrorOccurred.message}'],
      ['Degraded', condition('ResourcesUpToDate', 'False'), '{@ResourcesUpToDate.message}'],
      ['Progressing', condition('RolloutProgressing'), '{@RolloutProgressing.message}'],
      ['Healthy', condition('ResourcesUpToDate'), '{@ResourcesUpToDate.message}'],
      ['Degraded', condition('ParametersGenerated', 'False'), '{@ParametersGenerated.message}'],
    ],
    ['Progressing', 'Waiting for the status to be reported'],
  ),
  check(
    'argoproj.io/CronWorkflow',
    [
      ['Degraded', condition('SpecError'), '{@SpecError.message}'],
      ['Degraded', condition('SubmissionError'), '{@SubmissionError.message}'],
    ],
    ['Healthy', 'CronWorkflow is healthy.'],
  ),
  check(
    'argoproj.io/EventBus',
    [
      ['Degraded', someCondition('False'), '{some.message}'],
      ['Progressing', someCondition('Unknown'), '{some.message}'],
      ['Healthy', condition('Deployed'), '{@Deployed.message}'],
    ],
    ['Progressing', 'Waiting for the status to be reported'],
  ),
  check('argoproj.io/Rollout', [
    ['Degraded', condition('InvalidSpec'), '{@InvalidSpec.message}'],
    rolloutSeen,
    ['Suspended', field('status.phase', 'Paused'), '{status.message}'],
    ['Degraded', field('status.phase', 'Degraded', 'Error', 'Failed'), '{status.message}'],
    ['Progressing', field('status.phase', 'Progressing'), '{status.message}'],
    ['Healthy', field('status.phase', 'Healthy'), '{status.message}'],
    [
      'Degraded',
      condition('Progressing', ['True', 'False', 'Unknown'], 'RolloutAborted', 'ProgressDeadlineExceeded'),
      '{@Progressing.message}',
    ],
    [
      'Suspended',
      any(
        field('spec.paused', 'true'),
        condition('Progressing', ['True', 'False', 'Unknown'], 'RolloutPaused'),
        present('status.pauseConditions'),
      ),
      'Rollout is paused',
    ],
    rolloutReplicas,
  ]),
  check(
    'batch/CronJob',
    [
      ['Progressing', { on: 'not', of: { on: 'present', path: 'status' } }, 'CronJob has no status yet'],
      ['Healthy', field('spec.suspend', 'true'), 'CronJob is Suspended'],
      ['Healthy', empty('status.lastScheduleTime'), 'CronJob has not been scheduled yet'],
      cronJob,
    ],
    ['Healthy'],
  ),
  check(
    'policy/PodDisruptionBudget',
    [
      ['Healthy', condition('DisruptionAllowed'), 'PodDisruptionBudget has {@DisruptionAllowed.reason}'],
      ['Degraded', condition('DisruptionAllowed', 'False'), 'PodDisruptionBudget has {@DisruptionAllowed.reason}'],
    ],
    ['Progressing', 'Waiting for status'],
  ),
  check(
    'apiextensions.k8s.io/CustomResourceDefinition',
    [
      ['Progressing', empty('status.conditions'), 'Status conditions not found'],
      ['Progressing', condition('Terminating'), 'CRD is terminating: {@Terminating.message}'],
      ['Degraded', condition('NamesAccepted', 'False'), 'CRD names have not been accepted: {@NamesAccepted.message}'],
      ['Degraded', condition('NonStructuralSchema'), 'Schema violations found: {@NonStructuralSchema.message}'],
      ['Healthy', condition('Established'), 'CRD is healthy'],
    ],
    ['Degraded', 'CRD is not established: {@Established.message}'],
  ),
  ...keptn(),
];

function keptn() {
  const kinds = (path: string, ...names: string[]) =>
    names.map((name) =>
      check(
        `lifecycle.keptn.sh/${name}`,
        [
          ['Healthy', field(path, 'Succeeded', 'Warning'), `${name} is healthy`],
          ['Degraded', field(path, 'Failed', 'Cancelled', 'Deprecated'), `${name} is degraded`],
        ],
        ['Progressing', `${name} is progressing`],
      ),
    );
  return [
    ...kinds('status.status', 'KeptnAppVersion', 'KeptnTask', 'KeptnWorkloadInstance', 'KeptnWorkloadVersion'),
    ...kinds('status.overallStatus', 'KeptnEvaluation'),
    check(
      'metrics.keptn.sh/Analysis',
      [
        ['Healthy', field('status.pass', 'true'), 'Analysis is healthy'],
        ['Healthy', field('status.warning', 'true'), 'Analysis is healthy with warnings'],
        ['Degraded', field('status.state', 'Completed', 'Failed'), 'Analysis is degraded'],
      ],
      ['Progressing', 'Analysis is progressing'],
    ),
    check(
      'metrics.keptn.sh/KeptnMetric',
      [
        ['Degraded', { on: 'not', of: empty('status.errMsg') }, 'KeptnMetric is degraded'],
        ['Healthy', { on: 'not', of: empty('status.value') }, 'KeptnMetric is healthy'],
      ],
      ['Progressing', 'KeptnMetric is progressing'],
    ),
  ];
}
