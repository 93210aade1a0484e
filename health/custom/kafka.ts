import type { Json } from '#base';
import { absent, all, check, condition, field, not, on, outcome, present, states, above, walk } from './rules/check.ts';
import type { HealthCheck, CodeRule, HealthRule } from './rules/check.ts';
import { scalarText } from './rules/view.ts';

/** Strimzi: Ready, or NotReady with a reason. Only a Kafka cluster waits while it is Creating. */
const strimzi = (kind: string, name: string, unless = ''): HealthCheck =>
  check(
    `kafka.strimzi.io/${kind}`,
    [
      walk([
        ['Degraded', on('NotReady', 'True', unless), '{it.message}'],
        ['Healthy', on('Ready')],
      ]),
    ],
    ['Progressing', `Waiting for ${name}`],
  );

const confluent = (kind: string): HealthCheck =>
  check(
    `platform.confluent.io/${kind}`,
    states('status.phase', {
      RUNNING: ['Healthy', `${kind} running`],
      PROVISIONING: ['Progressing', `${kind} provisioning`],
    }),
    ['Progressing', `Waiting for ${kind}`],
  );

const rabbit = (kind: string): HealthCheck => {
  const name = `RabbitMQ ${kind.toLowerCase()}`;
  return check(
    `rabbitmq.com/${kind}`,
    [
      walk([
        ['Healthy', on('Ready', 'True', 'SuccessfulCreateOrUpdate'), `${name} ready`],
        ['Degraded', on('Ready', 'False', 'FailedCreateOrUpdate'), `${name} failed to be created or updated`],
      ]),
    ],
    ['Unknown', `${name} status is unknown`],
  );
};

/** Koperator: a broker is settled when it is in sync and its last action succeeded. */
const brokers: CodeRule = {
  description:
    'Degraded when a broker is not in sync or its upscale or downscale has not succeeded, Unknown when it is in sync without an action',
  evaluate: (view) => {
    const states = view.members('status.brokersState').map(([id]) => {
      const at = (...rest: string[]): Json => view.get(['status', 'brokersState', id, ...rest]);
      const isInSync = at('configurationState') === 'ConfigInSync';
      if (isInSync && at('gracefulActionState') === null) return 'unreadable';
      const action = scalarText(at('gracefulActionState', 'cruiseControlState'));
      return isInSync && /^Graceful(?:Up|Down)scaleSucceeded$/.test(action) ? 'settled' : 'open';
    });
    if (states.includes('unreadable'))
      return outcome('Unknown', "<string>:14: attempt to index a non-table object(nil) with key 'cruiseControlState'");
    return states.includes('open')
      ? outcome('Degraded', 'Broker Config is out of Sync or CruiseControlState is not Ready')
      : undefined;
  },
};

const topicNotReady: HealthRule = [
  'Progressing',
  all(
    present('status.brokersState'),
    field('status.state', 'ClusterReconciling'),
    not(
      all(
        present('status.cruiseControlTopicStatus'),
        not(field('status.cruiseControlTopicStatus', 'CruiseControlTopicNotReady')),
      ),
    ),
  ),
  'Kafka Cluster is Reconciling.',
];

/** The last condition of each type counts. */
const rabbitCluster: CodeRule = {
  description:
    'Degraded when ReconcileSuccess is False; by the last ClusterAvailable and AllReplicasReady: Progressing unless both are True, Suspended when it is scaled to zero',
  evaluate: (view) => {
    const failed = view.conditions.find((item) => item.type === 'ReconcileSuccess' && item.status === 'False');
    if (failed !== undefined) return outcome('Degraded', failed.message);
    const last = (type: string) => view.conditions.findLast((item) => item.type === type);
    const [available, ready] = [last('ClusterAvailable')?.status, last('AllReplicasReady')?.status];
    if (available === 'Unknown' || ready === 'Unknown')
      return outcome('Progressing', 'Waiting for RabbitMQ cluster readiness (conditions unknown)');
    const isScaledToZero = last('AllReplicasReady')?.reason === 'ScaledToZero' && view.number('spec.replicas') === 0;
    if (ready === 'False' && isScaledToZero) return outcome('Suspended', 'RabbitmqCluster is scaled to 0 replicas');
    if (available === 'False') return outcome('Progressing', 'Waiting for RabbitMQ cluster formation');
    if (ready === 'False') return outcome('Progressing', 'Waiting for RabbitMQ instances ready');
    return available === 'True' && ready === 'True' ? outcome('Healthy', 'RabbitMQ cluster ready') : undefined;
  },
};

/** Message queues and streams. */
export const kafka = [
  strimzi('Kafka', 'Kafka Cluster', '!Creating'),
  strimzi('KafkaBridge', 'KafkaBridge'),
  strimzi('KafkaConnect', 'Kafka Connect'),
  strimzi('KafkaConnector', 'KafkaConnector'),
  strimzi('KafkaTopic', 'Kafka Topic'),
  strimzi('KafkaUser', 'Kafka User'),
  check(
    'kafka.banzaicloud.io/KafkaCluster',
    [
      ['Progressing', field('status.state', 'ClusterRollingUpgrading'), 'Kafka Cluster is Rolling Upgrading.'],
      brokers,
      [
        'Healthy',
        all(
          present('status.brokersState'),
          field('status.cruiseControlTopicStatus', 'CruiseControlTopicReady'),
          field('status.state', 'ClusterRunning'),
        ),
        'Kafka Brokers, CruiseControl and cluster are in Healthy State.',
      ],
      topicNotReady,
    ],
    ['Progressing', 'Waiting for KafkaCluster'],
  ),
  ...['Connect', 'ControlCenter', 'Kafka', 'KsqlDB', 'SchemaRegistry', 'Zookeeper'].map(confluent),
  check(
    'platform.confluent.io/Connector',
    [
      [
        'Healthy',
        all(
          field('status.state', 'CREATED'),
          field('status.connectorState', 'RUNNING'),
          absent('status.failedTasksCount'),
        ),
        'Connector running',
      ],
      ['Degraded', all(field('status.state', 'ERROR'), condition('', '')), '{it.message}'],
      ['Degraded', field('status.state', 'ERROR'), 'No conditions available'],
      ['Degraded', all(present('status.state'), above('status.failedTasksCount', 0)), 'Connector has failed tasks'],
    ],
    ['Progressing', 'Waiting for Kafka Connector'],
  ),
  ...['Binding', 'Exchange', 'Permission', 'Policy', 'Queue', 'Shovel', 'User', 'Vhost'].map(rabbit),
  check('rabbitmq.com/RabbitmqCluster', [rabbitCluster], ['Progressing', 'Waiting for RabbitMQ Operator']),
];
