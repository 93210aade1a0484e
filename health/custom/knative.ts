import type { HealthStatus } from '#model';
import {
  absent,
  all,
  any,
  check,
  field,
  outcome,
  present,
  readyRule,
  states,
  truthy,
  unreadable,
} from './rules/check.ts';
import type { CodeRule } from './rules/check.ts';
import type { ObjectView, StatusCondition } from './rules/view.ts';

/** Knative operator: all conditions as a numbered list. */
const operator = (kind: string, needed: readonly string[], mayBeFalse: readonly string[]): CodeRule => ({
  description: `Progressing while a condition is Unknown, or ${mayBeFalse.join(' or ')} is False; Healthy when ${needed.join(', ')} are True, else Degraded`,
  evaluate: (view) => {
    if (!view.has('status.conditions')) return undefined;
    const lines = view.conditions.map((item, index) => `${index + 1}: ${item.type} | ${item.status}\n`).join('');
    const waits = view.conditions.some(
      (item) => item.status === 'Unknown' || (item.status === 'False' && mayBeFalse.includes(item.type)),
    );
    if (waits) return outcome('Progressing', lines);
    const good = view.conditions.filter((item) => item.status === 'True' && needed.includes(item.type));
    return good.length === needed.length ? outcome('Healthy', `${kind} is healthy.`) : outcome('Degraded', lines);
  },
});

const serving: CodeRule = {
  description:
    'Degraded when a condition is False, Healthy when ConfigurationsReady, RoutesReady and Ready are True and none is Unknown, else Progressing',
  evaluate: (view) => {
    if (!view.has('status.conditions')) return undefined;
    const open = view.conditions.filter((item) => item.status === 'False' || item.status === 'Unknown');
    const good = view.conditions.filter(
      (item) => item.status === 'True' && ['ConfigurationsReady', 'RoutesReady', 'Ready'].includes(item.type),
    );
    if (open.length === 0 && good.length === 3) return outcome('Healthy', 'Knative Service is healthy.');
    const lines = open.map((item) => {
      const reason = item.reason === '' ? '' : `, since ${item.reason}.`;
      return `${item.type} is ${item.status}${reason}${item.message === '' ? '' : ` ${item.message}`}\n`;
    });
    return outcome(open.some((item) => item.status === 'False') ? 'Degraded' : 'Progressing', lines.join(''));
  },
};

const words = (...parts: readonly string[]): string => parts.filter((word) => word !== '').join(' | ');

/** KServe: the model's transition status, then the conditions. `Stopped` False is no fault. */
const inference: CodeRule = {
  description:
    'Suspended when Stopped is True, Degraded when transitionStatus is neither UpToDate nor InProgress and no condition is given; else Progressing until all conditions are True',
  evaluate: (view) => {
    if (!view.has('status.conditions')) return undefined;
    if (view.conditions.some((item) => item.type === 'Stopped' && item.status === 'True'))
      return outcome('Suspended', 'InferenceService is Stopped');
    const transition = view.text('status.modelStatus.transitionStatus');
    const isUpToDate = !view.has('status.modelStatus') || transition === 'UpToDate';
    const text = view.conditions
      .map((item, index) => ({ item, number: index + 1 }))
      .filter(({ item }) => item.status !== 'True' && item.type !== 'Stopped')
      .map(({ item, number }) => ` | ${words(`${number}: ${item.type} | ${item.status}`, item.reason, item.message)}`)
      .join('');
    const message = `${isUpToDate ? '' : `0: transitionStatus | ${transition}`}${text}`;
    if (!isUpToDate && transition !== 'InProgress') return outcome('Degraded', message);
    const open = view.conditions.some((item) => item.status === 'Unknown' || isFault(item));
    return isUpToDate && !open ? outcome('Healthy', 'InferenceService is healthy.') : outcome('Progressing', message);
  },
};

function isFault(item: StatusCondition): boolean {
  return item.status === 'False' && item.type !== 'Stopped';
}

const languageModel: CodeRule = {
  description:
    'Progressing when the generation is not observed, Suspended when a reason is Stopped; by the last Ready: Healthy when True, Degraded when False, else Progressing',
  evaluate: (view) => {
    if (!view.has('status.conditions')) return undefined;
    const ready = view.conditions.findLast((item) => item.type === 'Ready');
    if (isUnobserved(view, ready))
      return outcome('Progressing', 'Waiting for LLMInferenceService reconciliation (generation mismatch)');
    if (view.conditions.some((item) => item.reason === 'Stopped'))
      return outcome('Suspended', 'LLMInferenceService is Stopped');
    if (ready?.status === 'True') return outcome('Healthy', 'LLMInferenceService is healthy.');
    const text = view.conditions
      .filter((item) => item.type !== 'Ready' && item.status !== 'True')
      .map((item) => words(`${item.type}: ${item.status}`, item.reason, item.message))
      .join('; ');
    return outcome(
      ready?.status === 'False' ? 'Degraded' : 'Progressing',
      [text, ready?.message, 'Waiting for LLMInferenceService to report status...'].find(Boolean),
    );
  },
};

function isUnobserved(view: ObjectView, ready: StatusCondition | undefined): boolean {
  const generation = view.get(['metadata', 'generation']);
  if (generation === null) return false;
  return [view.get(['status', 'observedGeneration']), ready?.fields['observedGeneration'] ?? null].some(
    (seen) => seen !== null && seen !== generation,
  );
}

/** A Deployment's conditions in another place, then the replica counts. */
const spin: CodeRule = {
  description:
    'Degraded when Progressing is False for good or it is not available, Progressing until all replicas are ready and while Progressing is True, else Healthy',
  evaluate: (view) => {
    if (!view.isSet('status')) return undefined;
    const failed = view.conditions.find(
      (item) =>
        item.type === 'Progressing' &&
        item.status === 'False' &&
        (item.reason === 'ProgressDeadlineExceeded' || /timeout|failed/.test(item.message.toLowerCase())),
    );
    if (failed !== undefined) return outcome('Degraded', textOr(failed, 'Application deployment has failed'));
    const available = view.conditions.findLast((item) => item.type === 'Available');
    if (available?.status !== 'True')
      return outcome('Degraded', available && textOr(available, 'Application is not available'));
    return spinReplicas(view);
  },
};

function spinReplicas(view: ObjectView): HealthStatus {
  const [ready, wanted] = [view.number('status.readyReplicas') ?? 0, view.number('spec.replicas') ?? 1];
  if (ready < wanted) return outcome('Progressing', `Waiting for replicas to be ready (${ready}/${wanted})`);
  const progress = view.conditions.findLast((item) => item.type === 'Progressing' && item.status === 'True');
  return progress === undefined
    ? outcome('Healthy', `Application is healthy with ${ready}/${wanted} replicas ready`)
    : outcome('Progressing', textOr(progress, 'Application progress status'));
}

function textOr(item: StatusCondition, text: string): string {
  return (item.fields['message'] ?? null) === null ? text : item.message;
}

/** Running with as many executors as requested; with dynamic allocation, any in its limits. */
const executors: CodeRule = {
  description: 'Healthy when it runs with the number of executors that it requests',
  evaluate: (view) => {
    if (view.text('status.applicationState.state') !== 'RUNNING' || !view.has('status.executorState')) return undefined;
    const running = view.members('status.executorState').filter(([, state]) => state === 'RUNNING').length;
    return hasEnough(view, running) ? outcome('Healthy', 'SparkApplication is Running') : undefined;
  },
};

function hasEnough(view: ObjectView, running: number): boolean {
  if (view.number('spec.executor.instances') === running) return true;
  const limits = executorLimits(view);
  if (limits !== undefined) return running >= limits[0] && running <= limits[1];
  return !view.has('spec.dynamicAllocation') && !view.has('spec.executor.instances') && running >= 1;
}

function executorLimits(view: ObjectView): readonly [number, number] | undefined {
  const limit = (path: readonly string[], otherwise: number): number => {
    const value = view.get(path);
    return value === null ? otherwise : Number(value);
  };
  if (view.isSet('spec.dynamicAllocation') && view.isSet('spec.dynamicAllocation.enabled')) {
    const at = (name: string): readonly string[] => ['spec', 'dynamicAllocation', name];
    return [limit(at('minExecutors'), 0), limit(at('maxExecutors'), Infinity)];
  }
  for (const prefix of ['spark.streaming.dynamicAllocation', 'spark.dynamicAllocation']) {
    const at = (name: string): readonly string[] => ['spec', 'sparkConf', `${prefix}.${name}`];
    if (view.get(at('enabled')) === 'true') return [limit(at('minExecutors'), 0), limit(at('maxExecutors'), Infinity)];
  }
  return undefined;
}

/** A function that is ready without replicas sleeps. */
const openfaas: CodeRule = {
  description:
    'by the first condition that decides: Degraded when Ready is False or Stalled is True; when Ready is True, Healthy with replicas and Suspended without',
  evaluate: (view) => {
    for (const item of view.conditions) {
      if ((item.type === 'Ready' && item.status === 'False') || (item.type === 'Stalled' && item.status === 'True'))
        return outcome('Degraded', item.message);
      if (item.type === 'Ready' && item.status === 'True')
        return (view.number('status.replicas') ?? 0) > 0
          ? outcome('Healthy', item.message)
          : outcome('Suspended', 'No replicas available');
    }
    return undefined;
  },
};

const sparkError = '{status.applicationState.errorMessage}';
const reconciled = present('status.reconciliationStatus');

/** Serverless functions, model serving and data processing. */
export const kserve = [
  check(
    'operator.knative.dev/KnativeEventing',
    [operator('KnativeEventing', ['Ready', 'InstallSucceeded'], ['Ready'])],
    ['Progressing', 'Waiting for KnativeEventing'],
  ),
  check(
    'operator.knative.dev/KnativeServing',
    [
      operator(
        'KnativeServing',
        ['Ready', 'InstallSucceeded', 'DependenciesInstalled', 'DeploymentsAvailable'],
        ['Ready', 'DeploymentsAvailable'],
      ),
    ],
    ['Progressing', 'Waiting for KnativeServing'],
  ),
  check('serving.knative.dev/Service', [serving], ['Progressing', 'Waiting for status update.']),
  check(
    'serving.kserve.io/InferenceService',
    [inference],
    ['Progressing', 'Waiting for InferenceService to report status...'],
  ),
  check(
    'serving.kserve.io/LLMInferenceService',
    [languageModel],
    ['Progressing', 'Waiting for LLMInferenceService to report status...'],
  ),
  check('openfaas.com/Function', [openfaas], ['Progressing', 'Waiting for Function']),
  check('core.spinkube.dev/SpinApp', [spin], ['Progressing', 'Waiting for status to be available']),
  check('camel.apache.org/Integration', [readyRule], ['Progressing', 'Waiting for Integration']),
  check(
    'flink.apache.org/FlinkDeployment',
    [
      [
        'Healthy',
        any(truthy('status.reconciliationStatus.success'), field('status.reconciliationStatus.state', 'DEPLOYED')),
      ],
      [
        'Progressing',
        all(reconciled, field('status.jobManagerDeploymentStatus', 'DEPLOYED_NOT_READY', 'DEPLOYING')),
        'Waiting for deploying',
      ],
      [
        'Degraded',
        all(reconciled, field('status.jobManagerDeploymentStatus', 'ERROR')),
        '{status.reconciliationStatus.error}',
      ],
      [
        'Healthy',
        all(field('spec.job.state', 'suspended'), absent('status.reconciliationStatus.lastReconciledSpec')),
        'Job is suspended',
      ],
    ],
    ['Progressing', 'Waiting for Flink operator'],
  ),
  check(
    'flink.apache.org/FlinkSessionJob',
    [
      ...states('status.jobStatus.state', {
        'RUNNING|FINISHED': ['Healthy', '{status.jobStatus.state}'],
        'RECONCILING|CREATED': ['Progressing', '{status.jobStatus.state}'],
        'SUSPENDED|CANCELED': ['Suspended', '{status.jobStatus.state}'],
        FAILED: ['Degraded', "{status.error|'FlinkSessionJob failed'}"],
      }),
      ['Degraded', present('status.error'), '{status.error}'],
    ],
    ['Progressing', 'Waiting for FlinkSessionJob to be reconciled'],
  ),
  check(
    'sparkoperator.k8s.io/SparkApplication',
    [
      unreadable(all(present('status'), absent('status.applicationState')), 62, 'state'),
      executors,
      ...states('status.applicationState.state', {
        '': ['Progressing', 'SparkApplication was added, enqueuing it for submission'],
        SUBMITTED: ['Progressing', 'SparkApplication was submitted successfully'],
        COMPLETED: ['Healthy', 'SparkApplication was Completed'],
        'FAILED|SUBMISSION_FAILED|FAILING': ['Degraded', sparkError],
        PENDING_RERUN: ['Progressing', 'SparkApplication is Pending Rerun'],
        INVALIDATING: ['Missing', 'SparkApplication is in InvalidatingState'],
        SUCCEEDING: [
          'Progressing',
          'The driver pod has been completed successfully. The executor pods terminate and are cleaned up.\n                                Under this circumstances, we assume the executor pod are completed.',
        ],
        UNKNOWN: [
          'Progressing',
          'SparkApplication is in UnknownState because either driver pod or one or all executor pods in unknown state  ',
        ],
      }),
    ],
    ['Progressing', 'Waiting for Executor pods'],
  ),
];
