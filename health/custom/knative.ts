import { all, any, check, condition, empty, field, kindsOf, outcome } from './check.ts';
import type { CodeRule } from './check.ts';

/**
 * Knative operator: all conditions as a numbered list. Ready with status False only means not ready
 * yet.
 */
const operator: CodeRule = {
  description:
    'Healthy when every condition is True, Progressing while one is Unknown or only Ready is False, else Degraded',
  evaluate: (view) => {
    if (view.conditions.length === 0) return undefined;
    const open = view.conditions.filter((item) => item.status !== 'True');
    if (open.length === 0) return outcome('Healthy', `${view.kind} is healthy.`);
    const waits = open.every((item) => item.status === 'Unknown' || (item.type === 'Ready' && item.status === 'False'));
    const lines = view.conditions.map((item, index) => `${index + 1}: ${item.type} | ${item.status}\n`);
    return outcome(waits ? 'Progressing' : 'Degraded', lines.join(''));
  },
};

const serving: CodeRule = {
  description: 'Degraded when a condition is False, Progressing while one is Unknown, Healthy when all are True',
  evaluate: (view) => {
    if (view.conditions.length === 0) return undefined;
    const open = view.conditions.filter((item) => item.status !== 'True');
    if (open.length === 0) return outcome('Healthy', 'Knative Service is healthy.');
    const lines = open.map((item) => `${item.type} is ${item.status}, since ${item.reason}. ${item.message}\n`);
    return outcome(open.some((item) => item.status === 'False') ? 'Degraded' : 'Progressing', lines.join(''));
  },
};

/**
 * KServe: the model's transition status first, then the conditions. `Stopped` with status False is
 * not a fault.
 */
const inference: CodeRule = {
  description:
    'Degraded when the model cannot be loaded or a condition is False, Progressing while the model loads or one is Unknown',
  evaluate: (view) => {
    const transition = view.text('status.modelStatus.transitionStatus');
    if (view.conditions.length === 0 && transition === '') return undefined;
    const numbered = view.conditions.map((item, index) => ({ item, number: index + 1 }));
    const open = numbered.filter(({ item }) => item.type !== 'Stopped' && item.status !== 'True');
    const words = open.map(({ item, number }) =>
      [`${number}: ${item.type}`, item.status, item.reason, item.message].filter((word) => word !== '').join(' | '),
    );
    if (transition !== '' && transition !== 'UpToDate') words.unshift(`0: transitionStatus | ${transition}`);
    const message = words.join(' | ');
    if (transition.startsWith('Blocked') || transition === 'InvalidSpec') return outcome('Degraded', message);
    if (transition === 'InProgress') return outcome('Progressing', message);
    if (open.some(({ item }) => item.status === 'False')) return outcome('Degraded', message);
    return open.length > 0 ? outcome('Progressing', message) : outcome('Healthy', 'InferenceService is healthy.');
  },
};

/** Serverless functions, model serving and data processing. */
export const kserve = [
  ...['KnativeEventing', 'KnativeServing'].map((kind) =>
    check(`operator.knative.dev/${kind}`, [operator], ['Progressing', `Waiting for ${kind}`]),
  ),
  check('serving.knative.dev/Service', [serving], ['Progressing', 'Waiting for status']),
  check(
    'serving.kserve.io/InferenceService',
    [['Suspended', condition('Stopped'), 'InferenceService is Stopped'], inference],
    ['Progressing', 'Waiting for InferenceService to report status...'],
  ),
  check(
    'openfaas.com/Function',
    [
      ['Degraded', condition('Stalled'), '{@Stalled.message}'],
      ['Healthy', condition('Healthy'), '{@Healthy.message}'],
      ['Suspended', all(condition('Ready'), condition('Healthy', 'False')), 'No replicas available'],
      ['Progressing', condition('Reconciling'), '{@Reconciling.message}'],
      ['Progressing', condition('Ready', ['False', 'Unknown']), '{@Ready.message}'],
    ],
    ['Progressing', 'Waiting for Function'],
  ),
  check('core.spinkube.dev/SpinApp', [spin()], ['Progressing', 'Waiting for SpinApp']),
  check(
    kindsOf('camel.apache.org', 'Integration'),
    [
      [
        'Degraded',
        any(field('status.phase', 'Error', 'Build Failure'), condition('Ready', 'False', 'Error')),
        '{@Ready.message}',
      ],
      ['Healthy', any(field('status.phase', 'Running'), condition('Ready')), '{@Ready.message}'],
    ],
    ['Progressing', 'Waiting for Integration'],
  ),
  check(
    'flink.apache.org/FlinkDeployment',
    [
      [
        'Suspended',
        all(
          field('status.jobManagerDeploymentStatus', 'MISSING'),
          any(field('spec.job.state', 'suspended'), field('status.jobStatus.state', 'SUSPENDED')),
        ),
        'Job is suspended',
      ],
      ['Degraded', field('status.jobManagerDeploymentStatus', 'ERROR'), '{status.reconciliationStatus.error}'],
      ['Degraded', field('status.jobStatus.state', 'FAILED', 'FAILING'), '{status.error}'],
      [
        'Healthy',
        all(
          field('status.jobManagerDeploymentStatus', 'READY'),
          any(empty('status.jobStatus.state'), field('status.jobStatus.state', 'RUNNING', 'FINISHED')),
        ),
      ],
    ],
    ['Progressing', 'Waiting for deploying'],
  ),
  check(
    'sparkoperator.k8s.io/SparkApplication',
    [
      executors(),
      ['Healthy', field('status.applicationState.state', 'COMPLETED'), 'SparkApplication was Completed'],
      [
        'Degraded',
        field(
          'status.applicationState.state',
          'FAILED',
          'SUBMISSION_FAILED',
          'PENDING_RERUN',
          'INVALIDATING',
          'FAILING',
        ),
        '{status.applicationState.errorMessage}',
      ],
      ['Progressing', field('status.applicationState.state', 'SUBMITTED'), 'SparkApplication was submitted'],
    ],
    ['Progressing', 'Waiting for Executors'],
  ),
];

/** A Deployment's conditions in another place: the last one with status True decides. */
function spin(): CodeRule {
  return {
    description: 'the last of Available and Progressing that is True decides; Degraded when Available is False',
    evaluate: (view) => {
      const last = view.conditions.findLast(
        (item) => item.status === 'True' && (item.type === 'Available' || item.type === 'Progressing'),
      );
      if (view.condition('Available')?.status === 'False' && last?.type !== 'Progressing')
        return outcome('Degraded', view.condition('Available')?.message);
      return last === undefined
        ? undefined
        : outcome(last.type === 'Available' ? 'Healthy' : 'Progressing', last.message);
    },
  };
}

/**
 * Running with as many executors as requested. With dynamic allocation any number within the limits
 * is enough.
 */
function executors(): CodeRule {
  return {
    description: 'Healthy when it runs with the number of executors that it requests',
    evaluate: (view) => {
      if (view.text('status.applicationState.state') !== 'RUNNING') return undefined;
      const running = view.members('status.executorState').filter(([, state]) => state === 'RUNNING').length;
      const wanted = executorLimits(view.get.bind(view)) ?? [
        view.number('spec.executor.instances') ?? running,
        Infinity,
      ];
      const enough = running >= Number(wanted[0]) && running <= Number(wanted[1]) && running > 0;
      return enough ? outcome('Healthy', 'SparkApplication is Running') : undefined;
    },
  };
}

function executorLimits(get: (path: readonly string[]) => unknown): readonly [unknown, unknown] | undefined {
  if (get(['spec', 'dynamicAllocation', 'enabled']) === true) {
    const limit = (name: string): unknown => get(['spec', 'dynamicAllocation', name]);
    return [limit('minExecutors') ?? 0, limit('maxExecutors') ?? Infinity];
  }
  for (const prefix of ['spark.dynamicAllocation', 'spark.streaming.dynamicAllocation']) {
    const setting = (name: string): unknown => get(['spec', 'sparkConf', `${prefix}.${name}`]);
    if (setting('enabled') === 'true') return [setting('minExecutors') ?? 0, setting('maxExecutors') ?? Infinity];
  }
  return undefined;
}
