import { all, any, check, condition, empty, field, less, not, outcome, present } from './check.ts';
import type { HealthCheck, CodeRule } from './check.ts';
import { scalarText } from './view.ts';

/** Strimzi: Ready, or NotReady with a reason, which is Creating until something goes wrong. */
const strimzi = (kind: string, name: string): HealthCheck =>
  check(
    `kafka.strimzi.io/${kind}`,
    [
      ['Progressing', condition('NotReady', 'True', 'Creating'), '{@NotReady.message}'],
      ['Degraded', condition('NotReady'), '{@NotReady.message}'],
      ['Healthy', condition('Ready'), '{@Ready.message}'],
    ],
    ['Progressing', `Waiting for ${name}`],
  );

const confluent = (kind: string): HealthCheck =>
  check(
    `platform.confluent.io/${kind}`,
    [
      ['Healthy', field('status.phase', 'RUNNING'), `${kind} running`],
      ['Progressing', field('status.phase', 'PROVISIONING'), `${kind} provisioning`],
      ['Degraded', not(empty('status.phase')), `${kind} {status.phase}`],
    ],
    ['Progressing', `Waiting for ${kind}`],
  );

const rabbit = (kind: string): HealthCheck => {
  const name = `RabbitMQ ${kind.toLowerCase()}`;
  return check(
    `rabbitmq.com/${kind}`,
    [
      ['Healthy', condition('Ready'), `${name} ready`],
      ['Degraded', condition('Ready', 'False', 'FailedCreateOrUpdate'), `${name} failed to be created or updated`],
      ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
    ],
    ['Unknown', `${name} status is unknown`],
  );
};

/**
 * Koperator: the cluster is running, Cruise Control has its topic, and no broker is being changed.
 */
const koperator: CodeRule = {
  description:
    'Healthy when state is ClusterRunning, cruiseControlTopicStatus is ready, and every broker is in sync and has finished its upscale or downscale',
  evaluate: (view) => {
    if (view.text('status.state') !== 'ClusterRunning') return undefined;
    if (view.text('status.cruiseControlTopicStatus') !== 'CruiseControlTopicReady') return undefined;
    const settled = view.members('status.brokersState').every(([id]) => {
      const at = (...rest: string[]): string => scalarText(view.get(['status', 'brokersState', id, ...rest]));
      return (
        at('configurationState') === 'ConfigInSync' &&
        /^(?:Graceful(?:Up|Down)scale(?:Succeeded|Completed))?$/.test(at('gracefulActionState', 'cruiseControlState'))
      );
    });
    return settled ? outcome('Healthy', 'Kafka Brokers, CruiseControl and cluster are in Healthy State.') : undefined;
  },
};

/** Message queues and streams. */
export const kafka = [
  strimzi('Kafka', 'Kafka'),
  strimzi('KafkaBridge', 'Kafka Bridge'),
  strimzi('KafkaConnect', 'Kafka Connect'),
  strimzi('KafkaConnector', 'KafkaConnector'),
  strimzi('KafkaMirrorMaker2', 'Kafka Mirror Maker'),
  strimzi('KafkaNodePool', 'Kafka Node Pool'),
  strimzi('KafkaRebalance', 'Kafka Rebalance'),
  strimzi('KafkaTopic', 'Kafka Topic'),
  strimzi('KafkaUser', 'Kafka User'),
  check(
    'kafka.banzaicloud.io/KafkaCluster',
    [
      [
        'Progressing',
        field('status.state', 'ClusterReconciling', 'ClusterRollingUpgrading'),
        'Waiting for KafkaCluster',
      ],
      koperator,
    ],
    ['Progressing', 'Waiting for KafkaCluster'],
  ),
  ...[
    'Connect',
    'ControlCenter',
    'Kafka',
    'KafkaRestProxy',
    'KRaftController',
    'KsqlDB',
    'SchemaRegistry',
    'Zookeeper',
  ].map(confluent),
  check(
    'platform.confluent.io/Connector',
    [
      [
        'Degraded',
        any(not(empty('status.failedTasks')), not(field('status.failedTasksCount', '', '0'))),
        'Connector has failed tasks',
      ],
      ['Healthy', field('status.connectorState', 'RUNNING'), 'Connector running'],
      ['Degraded', field('status.connectorState', 'FAILED'), 'Connector failed'],
      ['Suspended', field('status.connectorState', 'PAUSED', 'STOPPED'), 'Connector paused'],
    ],
    ['Progressing', 'Waiting for Connector'],
  ),
  ...[
    'Binding',
    'Exchange',
    'Federation',
    'Permission',
    'Policy',
    'Queue',
    'SchemaReplication',
    'Shovel',
    'User',
    'Vhost',
  ].map(rabbit),
  check(
    'rabbitmq.com/RabbitmqCluster',
    [
      ['Degraded', condition('ReconcileSuccess', 'False'), '{@ReconcileSuccess.message}'],
      ['Healthy', all(condition('AllReplicasReady'), condition('ClusterAvailable')), 'RabbitMQ cluster ready'],
      [
        'Progressing',
        any(condition('AllReplicasReady', 'Unknown'), condition('ClusterAvailable', 'Unknown')),
        'Waiting for RabbitMQ cluster readiness (conditions unknown)',
      ],
    ],
    ['Progressing', 'Waiting for RabbitMQ cluster formation'],
  ),
  check(
    'zookeeper.pravega.io/ZookeeperCluster',
    [
      [
        'Progressing',
        any(empty('status.readyReplicas'), less('status.readyReplicas', 'status.replicas')),
        'Waiting for ZK Nodes to join the ensemble',
      ],
      ['Progressing', less('status.readyReplicas', 'spec.replicas'), 'Waiting for ZK Nodes to join the ensemble'],
      ['Healthy', present('status.members'), 'All ZK Nodes have joined the ensemble'],
    ],
    ['Progressing', 'Waiting for ZK Nodes to join the ensemble'],
  ),
];
