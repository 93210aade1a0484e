import { ownMember } from '#base';
import type { Json } from '#base';
import {
  absent,
  all,
  any,
  check,
  field,
  kindsOf,
  not,
  on,
  outcome,
  present,
  same,
  stale,
  states,
  unobserved,
  unreadable,
  unworded,
  walk,
} from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import { scalarText } from './rules/view.ts';

const bug =
  'Ensure your ArgoCD is current and then check for/file a bug report: https://github.com/argoproj/argo-cd/issues';

/** Percona operators: one word of state, and how many nodes are ready. */
const nodes = '{status.ready}/{status.size} node(s) are ready';

const noNodes = any(absent('status.ready'), absent('status.size'));

const pxcError: CodeRule = {
  description: 'Degraded when state is error',
  evaluate: (view) => {
    if (view.text('status.state') !== 'error') return undefined;
    const messages = view.get(['status', 'message']);
    const text = Array.isArray(messages)
      ? (messages as readonly Json[]).map((item) => scalarText(item)).join(', ')
      : '';
    return outcome('Degraded', `Cluster is on error: ${text}`);
  },
};

/** MariaDB operator: every condition must be other than False; the message is the last one read. */
const mariadb: readonly HealthRule[] = [
  ['Progressing', absent('status.conditions'), 'No status info available'],
  walk([
    ['Degraded', on('', 'False', 'Failed'), '{it.message}'],
    ['Progressing', on('', 'False'), '{it.message}'],
  ]),
];

const lastText: CodeRule = {
  description: 'Healthy when no condition is False',
  evaluate: (view) => outcome('Healthy', view.conditions.at(-1)?.message),
};

const mariadbBackup: CodeRule = {
  description:
    'by the first condition that is False: Degraded (CronJobScheduled, Failed), else Progressing; Healthy when none is',
  evaluate: (view) => {
    if (!view.has('status.conditions')) return undefined;
    const text = (item = view.conditions.at(-1)): string =>
      item === undefined ? '' : `${item.reason} ${item.message}`;
    const wrong = view.conditions.find((item) => item.status === 'False');
    if (wrong === undefined) return outcome('Healthy', text());
    const failed = wrong.reason === 'CronJobScheduled' && wrong.message === 'Failed';
    return outcome(failed ? 'Degraded' : 'Progressing', text(wrong));
  },
};

const mariadbLast = (form: (item: { readonly reason: string; readonly message: string }) => string): CodeRule => ({
  description: 'Progressing with the message of the last condition',
  evaluate: (view) => {
    const last = view.conditions.at(-1);
    return last === undefined ? undefined : outcome('Progressing', form(last));
  },
});

const searchNodes: CodeRule = {
  description:
    'Progressing while availableNodes is less than the sum of the node sets; then by phase and health, if they are equal',
  evaluate: (view) => {
    if (!view.has('status.availableNodes')) return undefined;
    const wanted = view
      .list('spec.nodeSets')
      .reduce((sum, set) => sum + (typeof set['count'] === 'number' ? set['count'] : 0), 0);
    const current = view.number('status.availableNodes') ?? 0;
    if (current < wanted)
      return outcome(
        'Progressing',
        `The desired amount of availableNodes is ${wanted} but the current amount is ${current}`,
      );
    return current > wanted || !view.has('status.health') ? outcome('Unknown', unknownSearch) : undefined;
  },
};

const unknownSearch = `Elasticsearch Cluster status is unknown. ${bug}`;
const colour = (name: string): string =>
  `Elasticsearch Cluster status is ${name}. Check the status of indices, replicas and shards`;
const searchPhase = (phase: string, health: string) =>
  all(present('status.availableNodes'), field('status.phase', phase), field('status.health', health));
const searchAt = (phase: string) => all(present('status.availableNodes'), field('status.phase', phase));

/** Rook's Cassandra: a rack that reports other ready members than members waits. */
const racks: CodeRule = {
  description: 'Healthy when every rack has all its members ready',
  evaluate: (view) => {
    if (!view.has('status.racks')) return undefined;
    const racksOf = view.get(['status', 'racks']);
    const all = Array.isArray(racksOf)
      ? view.list('status.racks')
      : view.members('status.racks').map(([, rack]) => rack);
    const ready = all.every((rack) => {
      const [members, readyMembers] = ['members', 'readyMembers'].map((name) => numberOf(rack, name));
      return members === undefined || readyMembers === undefined || members === readyMembers;
    });
    return ready ? outcome('Healthy') : undefined;
  },
};

function numberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (ownMember(value as never, name) ?? undefined) : undefined;
}

const clickhouse = (key: string, name: string) =>
  check(
    key,
    [
      ['Progressing', absent('status.status'), `${name} status not yet available`],
      ['Healthy', field('status.status', 'Completed'), `${name} installation completed successfully`],
      ['Progressing', field('status.status', 'InProgress'), `${name} installation in progress`],
    ],
    ['Degraded', `${name} status: {status.status}`],
  );

const medusa = (job: boolean): readonly HealthRule[] => [
  ['Unknown', absent('status'), 'No status object'],
  ['Unknown', absent('status.observedGeneration'), 'No observedGeneration'],
  ['Progressing', stale(), 'observedGeneration is not equal to generation'],
  ['Progressing', all(absent('status.finished'), absent('status.failed')), job ? 'Status not known yet' : ''],
  ...(job ? [] : ([['Degraded', present('status.failed'), 'Failed nodes exist']] as const)),
  {
    description: 'Healthy when finished lists a node',
    evaluate: (view) => (view.count('status.finished') > 0 ? outcome('Healthy') : undefined),
  },
  ['Progressing', present('status.finished')],
];

const solrNodes: CodeRule = {
  description: 'Progressing until every node is ready',
  evaluate: (view) =>
    view.list('status.solrNodes').every((node) => ![undefined, null, false].includes(node['ready'] as never))
      ? undefined
      : outcome('Progressing', 'Not all replicas are ready'),
};

const atlasSchema: CodeRule = {
  description:
    'by Ready: Healthy when True, Progressing when its message is Reconciling or GettingDevDB, else Degraded',
  evaluate: (view) => {
    const ready = view.condition('Ready');
    if (ready === undefined) return undefined;
    if (ready.status === 'True') return outcome('Healthy', ready.reason);
    const working = ready.message === 'Reconciling' || ready.message === 'GettingDevDB';
    return outcome(working ? 'Progressing' : 'Degraded', ready.reason);
  },
};

/** Phases of CloudNativePG, by what they mean for the cluster. */
const cnpgPhases = states('status.phase', {
  'Cluster in healthy state': ['Healthy', '{status.phaseReason}'],
  'Setting up primary|Creating a new replica|Upgrading cluster|Waiting for the instances to become active|Promoting to primary cluster':
    ['Progressing', '{status.phaseReason}'],
  'Switchover in progress|Failing over|Upgrading Postgres major version|Cluster upgrade delayed|Waiting for user action|Primary instance is being restarted in-place|Primary instance is being restarted without a switchover|Cluster cannot execute instance online upgrade due to missing architecture binary|Online upgrade in progress|Applying configuration':
    ['Degraded', '{status.phaseReason}'],
  'Unable to create required cluster objects|Cluster cannot proceed to reconciliation due to an unknown plugin being required|Cluster has incomplete or invalid image catalog|Cluster is unrecoverable and needs manual intervention':
    ['Suspended', '{status.phaseReason}'],
});

const cnpgApplied = (applied: boolean) =>
  all(field('status.applied', applied), not(all(present('metadata.generation'), unobserved())));

/** Databases, search engines and caches. */
export const databases = [
  check(
    'acid.zalan.do/postgresql',
    [
      ['Progressing', absent('status.PostgresClusterStatus'), 'Waiting for postgres cluster status...'],
      ['Healthy', field('status.PostgresClusterStatus', 'Running'), '{status.PostgresClusterStatus}'],
      ['Progressing', field('status.PostgresClusterStatus', 'Creating', 'Updating'), '{status.PostgresClusterStatus}'],
    ],
    ['Degraded', '{status.PostgresClusterStatus}'],
  ),
  check(
    'beat.k8s.elastic.co/Beat',
    [
      ['Degraded', field('status.health', 'red'), 'Elastic Beat status is Red'],
      ['Healthy', field('status.health', 'green'), 'Elastic Beat status is Green'],
      [
        'Progressing',
        all(field('status.health', 'yellow'), present('status.availableNodes'), present('status.expectedNodes')),
        'Elastic Beat status is deploying, there is {status.availableNodes} instance(s) on {status.expectedNodes} expected',
      ],
      ['Progressing', field('status.health', 'yellow'), 'Elastic Beat phase is progressing'],
      [
        'Progressing',
        all(absent('status.health'), present('status.expectedNodes')),
        'Elastic Beat phase is progressing',
      ],
    ],
    ['Unknown', `Elastic Beat status is unknown. ${bug}`],
  ),
  check(
    'elasticsearch.k8s.elastic.co/Elasticsearch',
    [
      searchNodes,
      ['Healthy', searchPhase('Ready', 'green'), 'Elasticsearch Cluster status is Green'],
      ['Progressing', searchPhase('Ready', 'yellow'), colour('Yellow')],
      ['Degraded', searchPhase('Ready', 'red'), colour('Red')],
      ['Progressing', searchAt('ApplyingChanges'), 'Elasticsearch phase is ApplyingChanges'],
      ['Progressing', searchAt('MigratingData'), 'Elasticsearch phase is MigratingData'],
      ['Degraded', searchAt('Invalid'), 'Elasticsearch phase is Invalid'],
    ],
    ['Unknown', unknownSearch],
  ),
  check(
    'logstash.k8s.elastic.co/Logstash',
    states('status.health', {
      green: ['Healthy', 'Logstash status is Green'],
      yellow: ['Progressing', 'Logstash status is Yellow'],
      red: ['Degraded', 'Logstash status is Red'],
    }),
    ['Progressing', 'Waiting for Logstash'],
  ),
  check('cassandra.rook.io/Cluster', [racks], ['Progressing', 'Waiting for Cassandra Cluster']),
  clickhouse('clickhouse-keeper.altinity.com/ClickHouseKeeperInstallation', 'ClickHouseKeeper'),
  clickhouse('clickhouse.altinity.com/ClickHouseInstallation', 'ClickHouse'),
  check(
    'db.atlasgo.io/AtlasMigration',
    [
      walk([
        ['Healthy', on('Ready'), '{it.reason}'],
        ['Progressing', on('Ready', '', 'Reconciling'), '{it.reason}'],
        ['Degraded', on('Ready', ''), '{it.reason}'],
      ]),
    ],
    ['Progressing', 'Waiting for Atlas Operator'],
  ),
  check('db.atlasgo.io/AtlasSchema', [atlasSchema], ['Progressing', 'Waiting for Atlas Operator']),
  check(['k8s.mariadb.com/MariaDB', 'mariadb.mmontes.io/MariaDB'], [...mariadb, lastText]),
  check('k8s.mariadb.com/Backup', [mariadbBackup], ['Progressing', 'No status info available']),
  check(
    kindsOf('k8s.mariadb.com', 'Database', 'Grant', 'User'),
    [
      walk([
        ['Healthy', on('Ready'), '{it.message}'],
        ['Degraded', on('Ready', ''), '{it.message}'],
      ]),
      mariadbLast((item) => item.message),
    ],
    ['Progressing', 'No status info available'],
  ),
  check(
    'k8s.mariadb.com/SqlJob',
    [
      walk([
        ['Healthy', on('', 'True', 'JobComplete'), '{it.reason} {it.message}'],
        ['Degraded', on('', 'True', 'JobFailed'), '{it.reason} {it.message}'],
      ]),
      mariadbLast((item) => `${item.reason} ${item.message}`),
    ],
    ['Progressing', 'No status info available'],
  ),
  check(kindsOf('medusa.k8ssandra.io', 'MedusaBackupJob'), medusa(true), ['Degraded', 'Failed nodes exist']),
  check(kindsOf('medusa.k8ssandra.io', 'MedusaTask'), medusa(false), ['Progressing']),
  check(
    'psmdb.percona.com/PerconaServerMongoDB',
    [
      ['Unknown', absent('status'), 'Cluster status is unknown'],
      unworded(noNodes, 12),
      ...states('status.state', {
        'initializing|stopping': ['Progressing', nodes],
        ready: ['Healthy', nodes],
        error: ['Degraded', nodes],
        paused: ['Suspended', nodes],
      }),
    ],
    ['Unknown', nodes],
  ),
  check(
    'pxc.percona.com/PerconaXtraDBCluster',
    [
      ...(
        [
          ['initializing', 6],
          ['ready', 12],
          ['stopping', 24],
        ] as const
      ).map(([state, line]) => unworded(all(field('status.state', state), noNodes), line)),
      ...states('status.state', {
        initializing: ['Progressing', nodes],
        ready: ['Healthy', nodes],
        paused: ['Unknown', 'Cluster is paused'],
        stopping: ['Degraded', `Cluster is stopping (${nodes})`],
      }),
      pxcError,
    ],
    ['Unknown', `Cluster status is unknown. ${bug}`],
  ),
  check(
    'postgresql.cnpg.io/Cluster',
    [
      [
        'Suspended',
        field('metadata.annotations[cnpg.io/reconciliationLoop]', 'disabled'),
        'Cluster reconciliation is suspended',
      ],
      unreadable(absent('status'), 68, 'phaseReason'),
      ['Progressing', absent('status.conditions'), '{status.phaseReason}'],
      walk([
        ['Suspended', on('cnpg.io/hibernation'), '{it.message}'],
        ['Degraded', on('cnpg.io/hibernation', ''), '{it.message}'],
      ]),
      ...cnpgPhases,
    ],
    ['Unknown', '{status.phaseReason}'],
  ),
  check(
    'postgresql.cnpg.io/Backup',
    [
      ['Progressing', any(absent('status.phase'), field('status.phase', '')), 'Waiting for backup to be processed'],
      ['Healthy', field('status.phase', 'completed'), 'Backup completed'],
      [
        'Degraded',
        field('status.phase', 'failed', 'walArchivingFailing', 'invalid backup definition'),
        '{status.error|status.phase}',
      ],
    ],
    ['Progressing', '{status.phase}'],
  ),
  check(
    'postgresql.cnpg.io/Database',
    [
      ['Healthy', cnpgApplied(true), '{status.message}'],
      ['Degraded', cnpgApplied(false), "{status.message|'CloudNativePG failed to apply the Database'}"],
      ['Progressing', all(present('status.message'), not(field('status.message', ''))), '{status.message}'],
    ],
    ['Progressing', 'Waiting for CloudNativePG to reconcile Database'],
  ),
  check(
    'solr.apache.org/SolrCloud',
    [['Progressing', absent('status.solrNodes'), 'Waiting for solr to exist'], solrNodes],
    ['Healthy', 'Solr is ready'],
  ),
  check(
    'zookeeper.pravega.io/ZookeeperCluster',
    [
      [
        'Healthy',
        all(present('status'), not(field('status.readyReplicas', 0)), same('status.readyReplicas', 'status.replicas')),
        'All ZK Nodes have joined the ensemble',
      ],
    ],
    ['Progressing', 'Waiting for ZK Nodes to join the ensemble'],
  ),
];
