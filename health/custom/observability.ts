import {
  all,
  any,
  check,
  condition,
  empty,
  field,
  kindsOf,
  not,
  outcome,
  present,
  someCondition,
  stale,
} from './check.ts';
import type { CodeRule, HealthRule } from './check.ts';

const state = 'Component state: {status.state}.';

/**
 * Grafana objects: since 5.16 a condition whose type ends in Synchronized, before that only a hash.
 */
const synchronized: CodeRule = {
  description: 'Healthy when its …Synchronized condition is True, Degraded when it is False',
  evaluate: (view) => {
    const item = view.conditions.find((one) => one.type.endsWith('Synchronized'));
    if (item === undefined) return undefined;
    if (item.status === 'True') return outcome('Healthy', '');
    if (item.status !== 'False') return undefined;
    return outcome('Degraded', `${item.reason} for ${item.type} because ${item.message}`);
  },
};

/** `1/3`: ready and wanted replicas. */
const replicas: CodeRule = {
  description: 'Degraded when no replica is ready, Progressing when some are, Healthy when all are',
  evaluate: (view) => {
    const [, ready, wanted] = /^(\d+)\/(\d+)$/.exec(view.text('status.scale.statusReplicas')) ?? [];
    if (ready === undefined) return undefined;
    if (Number(ready) >= Number(wanted)) return outcome('Healthy', 'Collector is running');
    return ready === '0'
      ? outcome('Degraded', 'No replicas are ready')
      : outcome('Progressing', 'Replicas are starting up');
  },
};

const coralogix: readonly HealthRule[] = [
  ['Healthy', condition('RemoteSynced'), 'Resource is ready'],
  ['Degraded', condition('RemoteSynced', 'False'), '{@RemoteSynced.message}'],
];

/**
 * Ansible-based operators: Failure, Running (its reason shows whether it has finished), Successful.
 */
const ansible: readonly HealthRule[] = [
  ['Degraded', condition('Failure'), '{@Failure.message}'],
  ['Healthy', condition('Running', 'True', 'Successful'), '{@Running.message}'],
  ['Progressing', condition('Running'), '{@Running.message}'],
  ['Healthy', condition('Successful'), '{@Successful.message}'],
];

/** Monitoring, logging, tracing and data pipelines. */
export const observability = [
  check(kindsOf('coralogix.com', 'Alert', 'RecordingRuleGroupSet'), coralogix, [
    'Progressing',
    'Waiting for status to be updated',
  ]),
  check(
    kindsOf(
      'core.humio.com',
      'HumioAction',
      'HumioAlert',
      'HumioIngestToken',
      'HumioParser',
      'HumioRepository',
      'HumioView',
    ),
    [
      ['Healthy', field('status.state', 'Exists'), state],
      ['Degraded', field('status.state', 'ConfigError'), state],
      ['Missing', field('status.state', 'NotFound'), state],
      ['Unknown', field('status.state', 'Unknown'), state],
    ],
    ['Progressing', 'Update in progress'],
  ),
  check(
    'core.humio.com/HumioCluster',
    [
      ['Healthy', field('status.state', 'Running'), 'Cluster is in a healthy running state'],
      ['Degraded', all(field('status.state', 'ConfigError'), empty('status.message')), 'Cluster configuration error'],
      ['Degraded', field('status.state', 'ConfigError'), '{status.message}'],
      ['Progressing', field('status.state', 'Restarting'), 'Cluster pods are being restarted'],
      ['Progressing', field('status.state', 'Upgrading'), 'Cluster pods are being upgraded'],
      ['Progressing', field('status.state', 'Pending'), 'Cluster is waiting for its resources'],
      ['Unknown', field('status.state', 'Unknown'), state],
    ],
    ['Progressing', 'Update in progress'],
  ),
  check(
    'datadoghq.com/DatadogMetric',
    [
      ['Degraded', condition('Error'), '{@Error.message}'],
      ['Degraded', condition('Valid', 'False'), '{@Valid.message}'],
      ['Healthy', all(condition('Active'), condition('Valid')), 'DatadogMetric is healthy'],
    ],
    ['Progressing', 'Waiting for DatadogMetric'],
  ),
  check(
    'grafana-org-operator.kubitus-project.gitlab.io/*',
    [
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
    ],
    ['Progressing', 'Waiting ...'],
  ),
  check(
    'grafana.integreatly.org/Grafana',
    [
      ['Degraded', field('status.stageStatus', 'failed'), 'Failed at stage {status.stage}'],
      ['Healthy', all(field('status.stage', 'complete'), field('status.stageStatus', 'success'))],
    ],
    ['Progressing', '{status.stage}'],
  ),
  check(
    kindsOf(
      'grafana.integreatly.org',
      'GrafanaAlertRuleGroup',
      'GrafanaContactPoint',
      'GrafanaDashboard',
      'GrafanaDatasource',
      'GrafanaFolder',
      'GrafanaNotificationPolicy',
    ),
    [
      ['Degraded', field('status.NoMatchingInstances', 'true'), "can't find matching grafana instance"],
      synchronized,
      ['Degraded', condition('NoMatchingInstance'), '{@NoMatchingInstance.message}'],
      ['Degraded', condition('InvalidSpec'), '{@InvalidSpec.message}'],
      ['Healthy', any(not(empty('status.hash')), not(empty('status.lastResync')))],
    ],
    ['Progressing'],
  ),
  check(
    'jaegertracing.io/Jaeger',
    [
      ['Healthy', field('status.phase', 'Running'), 'Jaeger is Running'],
      ['Degraded', field('status.phase', 'Failed'), 'Jaeger Failed For Some Reason'],
    ],
    ['Progressing', 'Waiting for Jaeger'],
  ),
  check('kiali.io/Kiali', ansible, ['Progressing', 'Waiting for Kiali']),
  check(
    'monitoring.coreos.com/Prometheus',
    [
      ['Suspended', any(field('spec.paused', 'true'), field('status.paused', 'true')), 'Prometheus is paused'],
      ['Degraded', condition('Available', 'False'), '{@Available.message}'],
      ['Degraded', condition('Reconciled', 'False'), '{@Reconciled.message}'],
      ['Healthy', all(condition('Available'), condition('Reconciled')), 'All instances are available'],
      ['Progressing', present('status.conditions'), '{@Available.reason}'],
    ],
    ['Progressing', 'Waiting for initialization'],
  ),
  check(
    'opentelemetry.io/OpenTelemetryCollector',
    [
      ['Healthy', field('spec.mode', 'sidecar'), 'Collector is running in sidecar mode'],
      replicas,
      ['Healthy', all(field('spec.mode', 'daemonset'), not(empty('status.image'))), 'Collector is running'],
    ],
    ['Progressing', 'Waiting for the collector to report status'],
  ),
  check(
    'operator.victoriametrics.com/*',
    [
      ['Progressing', stale(), 'Waiting for the operator to reconcile'],
      ['Healthy', field('status.updateStatus', 'operational'), 'All components are operational'],
      ['Degraded', field('status.updateStatus', 'failed'), '{status.reason}'],
      ['Suspended', field('status.updateStatus', 'paused'), 'Reconciliation is paused'],
      ['Progressing', field('status.updateStatus', 'expanding'), 'Expansion is in progress'],
    ],
    ['Progressing', 'Waiting for the operator to reconcile'],
  ),
  ...numaflow(),
];

function numaflow() {
  const rules = (kind: string, bad: string): readonly HealthRule[] => [
    ['Progressing', stale(), `Waiting for ${kind} status`],
    ['Degraded', field('status.phase', 'Failed'), '{status.message}'],
    {
      description: 'Degraded when its label progressive-result-state is failed',
      evaluate: (view) =>
        view.get(['metadata', 'labels', 'numaplane.numaproj.io/progressive-result-state']) === 'failed'
          ? outcome('Degraded', 'Failed progressive upgrade')
          : undefined,
    },
    ['Healthy', field('status.phase', 'Paused'), `${kind} is paused`],
    ['Progressing', field('status.phase', 'Pausing'), `${kind} is pausing`],
    ['Progressing', field('status.phase', 'Deleting'), `${kind} is deleting`],
    ['Degraded', someCondition('False'), bad],
    ['Healthy', field('status.phase', 'Running', 'Succeeded'), `${kind} is healthy`],
  ];
  const of = (kind: string, bad: string) =>
    check(`numaflow.numaproj.io/${kind}`, rules(kind, bad), ['Progressing', `Waiting for ${kind} status`]);
  const rollouts: readonly HealthRule[] = [
    ['Progressing', empty('status'), 'Not yet reconciled'],
    ['Progressing', stale(), 'Not yet reconciled'],
    ['Degraded', condition('ProgressiveUpgradeSucceeded', 'False'), 'Progressive upgrade failed'],
    ['Degraded', field('status.phase', 'Failed'), '{status.message}'],
    [
      'Progressing',
      any(field('status.phase', 'Pending'), not(empty('status.upgradeInProgress'))),
      'Update in progress',
    ],
    ['Progressing', condition('ChildResourcesHealthy', 'False', 'Progressing'), 'Child Progressing'],
    ['Progressing', condition('ChildResourcesHealthy', 'Unknown'), 'Child Progressing'],
    ['Degraded', condition('ChildResourcesHealthy', 'False'), '{@ChildResourcesHealthy.message}'],
    ['Degraded', condition('ChildResourceDeployed', 'False'), '{@ChildResourceDeployed.message}'],
    ['Healthy', field('status.phase', 'Deployed'), 'Healthy'],
  ];
  return [
    of('InterStepBufferService', '{some.message}'),
    of('MonoVertex', 'Subresources are unhealthy'),
    of('Pipeline', 'Subresources are unhealthy'),
    of('Vertex', '{some.message}'),
    check(
      kindsOf(
        'numaplane.numaproj.io',
        'ISBServiceRollout',
        'MonoVertexRollout',
        'NumaflowControllerRollout',
        'PipelineRollout',
      ),
      rollouts,
      ['Progressing', 'Progressing'],
    ),
  ];
}
