import { all, any, check, condition, empty, field, kindsOf, outcome } from './form.ts';
import type { CodeRule } from './form.ts';

/** The operator of Knative: all conditions in a numbered list. Ready that is False only says that it is not there yet. */
const operator: CodeRule = {
  says: 'Healthy when every condition is True, Progressing while one is Unknown or only Ready is False, else Degraded',
  judge: (view) => {
    if (view.conditions.length === 0) return undefined;
    const open = view.conditions.filter((item) => item.status !== 'True');
    if (open.length === 0) return outcome('Healthy', `${view.kind} is healthy.`);
    const waits = open.every((item) => item.status === 'Unknown' || (item.type === 'Ready' && item.status === 'False'));
    const lines = view.conditions.map((item, index) => `${index + 1}: ${item.type} | ${item.status}\n`);
    return outcome(waits ? 'Progressing' : 'Degraded', lines.join(''));
  },
};

const serving: CodeRule = {
  says: 'Degraded when a condition is False, Progressing while one is Unknown, Healthy when all are True',
  judge: (view) => {
    if (view.conditions.length === 0) return undefined;
    const open = view.conditions.filter((item) => item.status !== 'True');
    if (open.length === 0) return outcome('Healthy', 'Knative Service is healthy.');
    const lines = open.map((item) => `${item.type} is ${item.status}, since ${item.reason}. ${item.message}\n`);
    return outcome(open.some((item) => item.status === 'False') ? 'Degraded' : 'Progressing', lines.join(''));
  },
};

/** KServe: the model's own transition first, then the conditions. `Stopped` is no fault when it is False. */
const inference: CodeRule = {
  says: 'Degraded when the model cannot be loaded or a condition is False, Progressing while the model loads or one is Unknown',
  judge: (view) => {
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

/** What runs functions and models. */
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

/** A Deployment's conditions in another place: the last one that is True says where it is. */
function spin(): CodeRule {
  return {
    says: 'the last of Available and Progressing that is True decides; Degraded when Available is False',
    judge: (view) => {
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

/** Running with all the executors it asked for; with dynamic allocation any number between its limits will do. */
function executors(): CodeRule {
  return {
    says: 'Healthy when it runs with the executors that it wants',
    judge: (view) => {
      if (view.text('status.applicationState.state') !== 'RUNNING') return undefined;
      const running = view.members('status.executorState').filter(([, state]) => state === 'RUNNING').length;
      const wanted = dynamic(view.get.bind(view)) ?? [view.number('spec.executor.instances') ?? running, Infinity];
      const enough = running >= Number(wanted[0]) && running <= Number(wanted[1]) && running > 0;
      return enough ? outcome('Healthy', 'SparkApplication is Running') : undefined;
    },
  };
}

function dynamic(get: (path: readonly string[]) => unknown): readonly [unknown, unknown] | undefined {
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
