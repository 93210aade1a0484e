import {
  all,
  annotation,
  any,
  check,
  condition,
  empty,
  field,
  kindsOf,
  less,
  not,
  outcome,
  pattern,
  present,
} from './check.ts';
import type { HealthCheck, CodeRule, HealthRule } from './check.ts';

const bug =
  'Ensure your ArgoCD is current and then check for/file a bug report: https://github.com/argoproj/argo-cd/issues';

/** Percona operators: one word of state, and how many nodes are ready. */
const nodes = '{status.ready}/{status.size} node(s) are ready';

const pxcError: CodeRule = {
  description: 'Degraded when state is error',
  evaluate: (view) => {
    if (view.text('status.state') !== 'error') return undefined;
    const messages = view.get(['status', 'message']);
    const text = Array.isArray(messages)
      ? messages.filter((item) => typeof item === 'string').join(', ')
      : view.text('status.message');
    return outcome('Degraded', `Cluster is on error: ${text}`);
  },
};

const mariadb = (group: string): readonly HealthCheck[] => [
  check(
    `${group}/MariaDB`,
    [
      ['Progressing', empty('status.conditions'), 'No status info available'],
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Degraded', condition('Ready', 'False', 'Failed'), '{@Ready.message}'],
      ['Progressing', condition('Ready', ['False', 'Unknown']), '{@Ready.message}'],
    ],
    ['Progressing', 'No status info available'],
  ),
  check(
    kindsOf(group, 'Backup', 'PhysicalBackup', 'Restore', 'SqlJob'),
    [
      [
        'Degraded',
        condition('Complete', ['True', 'False'], 'JobFailed', 'CronJobFailed', 'Failed'),
        '{@Complete.reason} {@Complete.message}',
      ],
      ['Healthy', condition('Complete'), '{@Complete.reason} {@Complete.message}'],
      [
        'Healthy',
        condition('Complete', 'False', 'CronJobScheduled', 'CronJobSuccess', 'CronJobSucess'),
        '{@Complete.reason} {@Complete.message}',
      ],
      ['Progressing', condition('Complete', ['False', 'Unknown']), '{@Complete.reason} {@Complete.message}'],
    ],
    ['Progressing', 'No status info available'],
  ),
  check(
    kindsOf(group, 'Connection', 'Database', 'Grant', 'User'),
    [
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
    ],
    ['Progressing', 'No status info available'],
  ),
];

/** Elastic's operator reports a colour; a yellow one with instances missing is still deploying. */
const elastic = (name: string): readonly HealthRule[] => [
  ['Healthy', field('status.health', 'green'), `${name} status is Green`],
  [
    'Progressing',
    all(field('status.health', 'yellow'), present('status.availableNodes'), present('status.expectedNodes')),
    `${name} status is deploying, there is {status.availableNodes} instance(s) on {status.expectedNodes} expected`,
  ],
  ['Progressing', field('status.health', 'yellow'), `${name} phase is progressing`],
  ['Degraded', field('status.health', 'red'), `${name} status is Red`],
];

const searchNodes: CodeRule = {
  description: 'Progressing when availableNodes is not the sum of the node sets',
  evaluate: (view) => {
    if (view.text('status.phase') !== 'Ready' || view.text('status.health') !== 'green') return undefined;
    const wanted = view
      .list('spec.nodeSets')
      .reduce((sum, set) => sum + (typeof set['count'] === 'number' ? set['count'] : 0), 0);
    const current = view.number('status.availableNodes') ?? 0;
    if (wanted === current) return outcome('Healthy', 'Elasticsearch Cluster status is Green');
    return outcome(
      'Progressing',
      `The desired amount of availableNodes is ${wanted} but the current amount is ${current}`,
    );
  },
};

const colour = (name: string): string =>
  `Elasticsearch Cluster status is ${name}. HealthCheck the status of indices, replicas and shards`;

/** Rook's Cassandra: Healthy when in every rack all members are ready. */
const racks: CodeRule = {
  description: 'Healthy when every rack has all its members ready',
  evaluate: (view) => {
    const all = view.members('status.racks').map(([, rack]) => rack as Record<string, unknown> | null);
    if (all.length === 0) return undefined;
    const ready = all.every((rack) => Number(rack?.['members'] ?? 0) === Number(rack?.['readyMembers'] ?? 0));
    return ready ? outcome('Healthy') : undefined;
  },
};

/** Databases, search engines and caches. */
export const databases = [
  check(
    'acid.zalan.do/postgresql',
    [
      ['Healthy', field('status.PostgresClusterStatus', 'Running'), '{status.PostgresClusterStatus}'],
      ['Progressing', field('status.PostgresClusterStatus', 'Creating', 'Updating'), '{status.PostgresClusterStatus}'],
      ['Degraded', not(empty('status.PostgresClusterStatus')), '{status.PostgresClusterStatus}'],
    ],
    ['Progressing', 'Waiting for postgres cluster status...'],
  ),
  check(
    'postgresql.cnpg.io/Cluster',
    [
      ['Suspended', annotation('cnpg.io/hibernation', 'on'), 'Cluster has been hibernated'],
      ['Suspended', annotation('cnpg.io/reconciliationLoop', 'disabled'), 'Cluster reconciliation is suspended'],
      [
        'Suspended',
        field('status.phase', 'Waiting for user action', 'Cluster upgrade delayed'),
        '{status.phaseReason}',
      ],
      ['Healthy', field('status.phase', 'Cluster in healthy state'), '{status.phaseReason}'],
      [
        'Degraded',
        pattern(
          'status.phase',
          /unrecoverable|unable to|cannot|not enough disk space|failed|error|invalid|inconsistent|unknown plugin|missing/i,
        ),
        '{status.phaseReason}',
      ],
    ],
    ['Progressing', '{status.phaseReason}'],
  ),
  check(
    'psmdb.percona.com/PerconaServerMongoDB',
    [
      ['Healthy', field('status.state', 'ready'), nodes],
      ['Degraded', field('status.state', 'error'), nodes],
      ['Progressing', field('status.state', 'initializing', 'stopping'), nodes],
      ['Suspended', field('status.state', 'paused'), 'Cluster is paused'],
      ['Progressing', empty('status'), 'Waiting for the status of the cluster'],
    ],
    ['Unknown', nodes],
  ),
  check(
    'pxc.percona.com/PerconaXtraDBCluster',
    [
      ['Healthy', field('status.state', 'ready'), nodes],
      pxcError,
      ['Progressing', field('status.state', 'initializing'), nodes],
      [
        'Progressing',
        field('status.state', 'stopping'),
        'Cluster is stopping ({status.ready}/{status.size} node(s) are ready)',
      ],
      ['Unknown', field('status.state', 'paused'), 'Cluster is paused'],
      ['Progressing', empty('status'), 'Waiting for the status of the cluster'],
    ],
    ['Unknown', `Cluster status is unknown. ${bug}`],
  ),
  ...mariadb('k8s.mariadb.com'),
  ...mariadb('mariadb.mmontes.io'),
  check('cassandra.rook.io/Cluster', [racks], ['Progressing', 'Waiting for Cassandra Cluster']),
  check(['clickhouse-keeper.altinity.com/ClickHouseKeeperInstallation'], clickhouse('ClickHouseKeeper'), [
    'Progressing',
    'ClickHouseKeeper status not yet available',
  ]),
  check('clickhouse.altinity.com/ClickHouseInstallation', clickhouse('ClickHouse'), [
    'Progressing',
    'ClickHouse status not yet available',
  ]),
  check(
    kindsOf('db.atlasgo.io', 'AtlasMigration', 'AtlasSchema'),
    [
      ['Healthy', condition('Ready'), '{@Ready.reason}'],
      [
        'Progressing',
        condition('Ready', 'False', 'Reconciling', 'GettingDevDB', 'VerifyingFirstRun', 'ApprovalPending'),
        '{@Ready.reason}',
      ],
      ['Degraded', condition('Ready', 'False'), '{@Ready.reason}'],
    ],
    ['Progressing', 'Waiting for the status to be reported'],
  ),
  check('beat.k8s.elastic.co/Beat', elastic('Elastic Beat'), ['Unknown', `Elastic Beat status is unknown. ${bug}`]),
  check('logstash.k8s.elastic.co/Logstash', elastic('Logstash'), ['Unknown', `Logstash status is unknown. ${bug}`]),
  check(
    'elasticsearch.k8s.elastic.co/Elasticsearch',
    [
      searchNodes,
      ['Degraded', field('status.phase', 'ResourceInvalid', 'Invalid'), 'Elasticsearch phase is Invalid'],
      ['Progressing', all(field('status.phase', 'Ready'), field('status.health', 'yellow')), colour('Yellow')],
      ['Degraded', all(field('status.phase', 'Ready'), field('status.health', 'red')), colour('Red')],
      [
        'Progressing',
        field('status.phase', 'ApplyingChanges', 'MigratingData', 'NodeShutdownStalled'),
        'Elasticsearch phase is {status.phase}',
      ],
      ['Progressing', field('status.health', 'yellow'), colour('Yellow')],
      ['Degraded', field('status.health', 'red'), colour('Red')],
    ],
    ['Unknown', `Elasticsearch Cluster status is unknown. ${bug}`],
  ),
  check(
    'solr.apache.org/SolrCloud',
    [
      ['Progressing', empty('status.readyReplicas'), 'Waiting for solr to exist'],
      [
        'Progressing',
        any(less('status.readyReplicas', 'spec.replicas'), less('status.upToDateNodes', 'spec.replicas')),
        'Not all replicas are ready',
      ],
    ],
    ['Healthy', 'Solr is ready'],
  ),
  check(
    'minio.min.io/Tenant',
    [
      ['Progressing', empty('status.currentState'), 'No status info available'],
      ['Healthy', field('status.currentState', 'Initialized'), '{status.currentState}'],
      [
        'Progressing',
        pattern('status.currentState', /^(?:Provisioning|Waiting|Updating|Restarting|Decommissioning)\b/),
        '{status.currentState}',
      ],
    ],
    ['Degraded', '{status.currentState}'],
  ),
];

function clickhouse(name: string): readonly HealthRule[] {
  return [
    ['Healthy', field('status.status', 'Completed'), `${name} installation completed successfully`],
    ['Progressing', field('status.status', 'InProgress'), `${name} installation in progress`],
    ['Progressing', field('status.status', 'Terminating'), `${name} installation is terminating`],
    ['Degraded', not(empty('status.status')), `${name} status: {status.status}`],
  ];
}
