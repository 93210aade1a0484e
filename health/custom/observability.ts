import {
  absent,
  all,
  any,
  check,
  condition,
  field,
  kindsOf,
  not,
  on,
  outcome,
  present,
  same,
  stale,
  states,
  truthy,
  unreadable,
  walk,
  walkBack,
} from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import type { StatusCondition } from './rules/view.ts';

/** Grafana objects: every condition up to the one that decides is part of the message. */
const grafanaConditions = (isFault: (item: StatusCondition) => boolean): CodeRule => ({
  description:
    'Degraded at the first condition that is a fault, Healthy when one is True; the message has the reasons, types and messages',
  evaluate: (view) => {
    const reported = view.conditions.filter((item) => has(item, 'status'));
    const end = reported.findIndex(isFault);
    const read = end < 0 ? reported : reported.slice(0, end + 1);
    const message = read.map(grafanaText).reduce((text, part) => `${text === '' ? '' : `${text}, `}${part}`, '');
    if (end >= 0) return outcome('Degraded', message);
    return outcome(read.some((item) => item.status === 'True') ? 'Healthy' : 'Progressing', message);
  },
});

function grafanaText(item: StatusCondition): string {
  if (!has(item, 'reason')) return '';
  if (!has(item, 'type')) return item.reason;
  return `${item.reason} for ${item.type}${has(item, 'message') ? ` because ${item.message}` : ''}`;
}

function has(item: StatusCondition, name: string): boolean {
  return (item.fields[name] ?? null) !== null;
}

/** `1/3`: ready and wanted replicas. */
const collectorReplicas: CodeRule = {
  description:
    'by status.scale.statusReplicas: Healthy when all are ready, Degraded when none is (Healthy for a daemonset without nodes), else Progressing',
  evaluate: (view) => {
    if (!view.has('status.scale.statusReplicas')) return undefined;
    const text = view.text('status.scale.statusReplicas');
    const [, ready, total] = /(\d+)\/(\d+)/.exec(text) ?? [];
    if (ready === undefined) return outcome('Progressing', `Unable to parse replica status: ${text}`);
    if (Number(ready) === 0)
      return view.text('spec.mode') === 'daemonset' && Number(total) === 0
        ? outcome('Healthy', 'DaemonSet has no eligible nodes (0/0)')
        : outcome('Degraded', 'No replicas are ready');
    return Number(ready) === Number(total)
      ? outcome('Healthy', 'All replicas are ready')
      : outcome('Progressing', 'Replicas are starting up');
  },
};

const datadogError: CodeRule = {
  description: 'Degraded when Error is True',
  evaluate: (view) => {
    const found = view.conditions.find((item) => item.type === 'Error' && item.status === 'True');
    if (found === undefined) return undefined;
    const message = has(found, 'message') ? found.message : 'DatadogMetric reported an error';
    return outcome('Degraded', found.reason === '' ? message : `${found.reason}: ${message}`);
  },
};

const humioStates: readonly HealthRule[] = states('status.state', {
  Exists: ['Healthy', 'Component state: Exists.'],
  NotFound: ['Missing', 'Component state: NotFound.'],
  ConfigError: ['Degraded', 'Component state: ConfigError.'],
  Unknown: ['Unknown', 'Component state: Unknown.'],
});

/** VictoriaMetrics: the reason, or a text when it is empty. */
const victoria = (
  state: string,
  status: 'Progressing' | 'Suspended' | 'Degraded',
  text: string,
): readonly HealthRule[] => [
  [
    status,
    all(field('status.updateStatus', state), present('status.reason'), not(field('status.reason', ''))),
    '{status.reason}',
  ],
  [status, field('status.updateStatus', state), text],
];

/** Ansible-based operators: Successful, Failure, or Running with the reason Running. */
const ansible: readonly HealthRule[] = [
  walk([
    ['Healthy', on('Successful'), '{it.message}'],
    ['Degraded', on('Failure'), '{it.message}'],
    ['Progressing', on('Running', '', 'Running'), '{it.message}'],
  ]),
];

const progressiveFailed = field('metadata.labels[numaplane.numaproj.io/progressive-result-state]', 'failed');

/** Monitoring, logging, tracing and data pipelines. */
export const observability = [
  check(
    kindsOf('coralogix.com', 'Alert', 'RecordingRuleGroupSet'),
    [
      walk([
        ['Healthy', on('RemoteSynced'), 'Resource is ready'],
        ['Degraded', on('RemoteSynced', 'False'), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting for status to be updated'],
  ),
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
    humioStates,
    ['Progressing', 'Update in progress'],
  ),
  check(
    'core.humio.com/HumioCluster',
    [
      unreadable(absent('status'), 9, 'message'),
      ...states('status.state', {
        Running: ['Healthy', "{status.message|'Cluster is in a healthy running state'}"],
        Restarting: ['Progressing', "{status.message|'Cluster pods are being restarted'}"],
        Upgrading: ['Progressing', "{status.message|'Cluster pods are being upgraded'}"],
        ConfigError: [
          'Degraded',
          "{status.message|'User-provided cluster specification resulted in a configuration error'}",
        ],
        Pending: ['Progressing', "{status.message|'Cluster is waiting on resources to be provisioned'}"],
        Unknown: ['Unknown', "{status.message|'Component state: Unknown.'}"],
      }),
    ],
    ['Progressing', 'Update in progress'],
  ),
  check(
    'datadoghq.com/DatadogMetric',
    [datadogError, ['Degraded', condition('Valid', 'False'), "{it.message|'DatadogMetric is not valid'}"]],
    ['Healthy', 'DatadogMetric is healthy'],
  ),
  check(
    'grafana-org-operator.kubitus-project.gitlab.io/*',
    [
      walk([
        ['Degraded', on('Ready', 'False'), '{it.message}'],
        ['Healthy', on('Ready'), '{it.message}'],
        ['Progressing', on('Ready', ''), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting ...'],
  ),
  check(
    'grafana.integreatly.org/Grafana',
    [
      ['Progressing', absent('status.stageStatus'), 'Waiting for Grafana status info'],
      ['Degraded', field('status.stageStatus', 'failed'), 'Failed at stage {status.stage}'],
      ['Healthy', all(field('status.stage', 'complete'), field('status.stageStatus', 'success'))],
    ],
    ['Progressing', '{status.stage}'],
  ),
  check('grafana.integreatly.org/GrafanaDashboard', [grafanaConditions((item) => item.status === 'False')]),
  check('grafana.integreatly.org/GrafanaFolder', [
    grafanaConditions((item) => item.status === (item.type === 'FolderUIDMismatch' ? 'True' : 'False')),
  ]),
  check(
    'grafana.integreatly.org/GrafanaDatasource',
    [
      ['Progressing', any(absent('status'), field('status.uid', ''))],
      ['Degraded', truthy('status.NoMatchingInstances'), "can't find matching grafana instance"],
    ],
    ['Healthy'],
  ),
  check(
    'jaegertracing.io/Jaeger',
    states('status.phase', {
      Running: ['Healthy', 'Jaeger is Running'],
      Failed: ['Degraded', 'Jaeger Failed For Some Reason'],
    }),
    ['Progressing', 'Waiting for Jaeger'],
  ),
  check('kiali.io/Kiali', ansible, ['Progressing', 'Waiting for Kiali']),
  check(
    kindsOf('monitoring.coreos.com', 'Alertmanager', 'Prometheus', 'ThanosRuler'),
    [
      walkBack([
        ['Healthy', on('Available'), 'All instances are available'],
        ['Progressing', on('Available', '', 'SomePodsNotReady'), '{it.message|it.reason}'],
        ['Degraded', on('Available', ''), '{it.message|it.reason}'],
      ]),
    ],
    ['Progressing', 'Waiting for initialization'],
  ),
  check(
    'opentelemetry.io/OpenTelemetryCollector',
    [
      ['Progressing', absent('status'), 'Waiting for OpenTelemetry Collector status'],
      collectorReplicas,
      ['Healthy', field('spec.mode', 'sidecar'), 'Collector is running in sidecar mode'],
    ],
    ['Progressing', 'Scale status not available'],
  ),
  check(
    'operator.victoriametrics.com/*',
    [
      ['Progressing', any(absent('status'), stale()), 'Waiting for the operator to reconcile'],
      ['Healthy', field('status.updateStatus', 'operational'), 'All components are operational'],
      ['Healthy', field('status.updateStatus', 'ignored'), 'Resource was not picked by any parent object'],
      ...victoria('expanding', 'Progressing', 'Reconciliation in progress'),
      ...victoria('paused', 'Suspended', 'Reconciliation is paused'),
      ...victoria('failed', 'Degraded', 'Reconciliation failed'),
    ],
    ['Progressing', 'Waiting for the operator to report status'],
  ),
  ...numaflow(),
];

function numaflow() {
  const observed = all(present('status'), same('metadata.generation', 'status.observedGeneration'));
  const rules = (kind: string, labelled: boolean, own: boolean, ...also: HealthRule[]): readonly HealthRule[] => [
    ['Progressing', not(observed), `Waiting for ${kind} status`],
    ['Degraded', field('status.phase', 'Failed'), '{status.message}'],
    ...(labelled ? ([['Degraded', progressiveFailed, 'Failed progressive upgrade']] as const) : []),
    own
      ? walkBack([['Degraded', on('', 'False'), '{it.message}']])
      : (['Degraded', condition('', 'False'), 'Subresources are unhealthy'] as const),
    ...also,
    ['Healthy', field('status.phase', 'Running'), `${kind} is healthy`],
  ];
  const of = (kind: string, list: readonly HealthRule[]) =>
    check(`numaflow.numaproj.io/${kind}`, list, ['Progressing', `Waiting for ${kind} status`]);
  return [
    of('InterStepBufferService', rules('InterStepBufferService', true, true)),
    of(
      'MonoVertex',
      rules('MonoVertex', true, false, ['Healthy', field('status.phase', 'Paused'), 'MonoVertex is paused']),
    ),
    of(
      'Pipeline',
      rules('Pipeline', true, false, ['Healthy', field('status.phase', 'Paused', 'Pausing'), 'Pipeline is paused']),
    ),
    of('Vertex', rules('Vertex', false, true, ['Healthy', field('status.phase', 'Paused'), 'Vertex is paused'])),
    rollout('ISBServiceRollout', 'ISBSvcFailed', '', 'Unknown status'),
    rollout('MonoVertexRollout', 'MonoVertexFailed', 'MonoVertexPausingOrPaused', 'Unknown MonoVertex status'),
    rollout('PipelineRollout', 'PipelineFailed', 'PipelinePausingOrPaused', 'Unknown Pipeline status'),
    rollout('NumaflowControllerRollout', '', '', 'Unknown status'),
  ];
}

/** Numaplane. An upgrade that failed is not in progress any more, except for the controller. */
function rollout(kind: string, failed: string, paused: string, unknown: string) {
  const upgradeFailed = condition('ProgressiveUpgradeSucceeded', 'False');
  const upgrading = any(
    all(present('status.upgradeInProgress'), not(field('status.upgradeInProgress', ''))),
    field('status.phase', 'Pending'),
  );
  const controller = failed === '';
  return check(
    `numaplane.numaproj.io/${kind}`,
    [
      [
        'Progressing',
        any(absent('status'), not(same('metadata.generation', 'status.observedGeneration'))),
        'Not yet reconciled',
      ],
      ['Progressing', controller ? upgrading : all(upgrading, not(upgradeFailed)), 'Update in progress'],
      ['Progressing', condition('ChildResourcesHealthy', 'False', 'Progressing'), 'Child Progressing'],
      ['Degraded', field('status.phase', 'Failed'), '{status.message}'],
      controller
        ? walk([['Degraded', on('ChildResourcesHealthy', 'False', '!Progressing'), '{it.message}']])
        : walk([
            ['Degraded', on('ChildResourcesHealthy', 'False', failed), '{it.message}'],
            ['Degraded', on('ProgressiveUpgradeSucceeded', 'False'), 'Progressive upgrade failed'],
          ]),
      ...(paused === '' ? [] : ([['Healthy', condition(paused), '{it.message}']] as const)),
      ['Healthy', condition('ChildResourcesHealthy'), 'Healthy'],
    ],
    ['Unknown', unknown],
  );
}
