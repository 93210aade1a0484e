/**
 * kube: how to talk to an API server. A thin, raw client over shared connections, discovery, a reflector that survives everything a
 * server or a network does, and an informer on top of it. Objects go through as they are: no field is ever dropped.
 *
 * @kubernetes/client-node is used for what it is good at, reading kubeconfig, in-cluster and credential configuration, in one file.
 */
export { apiResource } from './api-resource.ts';
export { createKubeClient } from './client.ts';
export type {
  CommandRequest,
  CommandResult,
  KubeClientDeps,
  KubeClientLimits,
  RequestRecord,
  RunCommand,
} from './client-types.ts';
export { connectionFromFlags, connectionFromKubeconfig, inClusterConnection } from './config.ts';
export type { LoadedConnection } from './config.ts';
export type { ConnectionOverrides } from './overrides.ts';
export {
  EndlessListError,
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isTooLarge,
  isNotFound,
  KubeApiError,
  KubeConnectionError,
  KubeCredentialError,
  KubeProtocolError,
  KubeReadOnlyError,
  KubeRequestError,
} from './errors.ts';
export type { KubeStatus } from './errors.ts';
export type {
  ApiDiscovery,
  CallOptions,
  DeleteOptions,
  KubeClient,
  KubeReader,
  ListOptions,
  ListPage,
  NamedObject,
  Patch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './types.ts';
export type { Informer, InformerEvent, ListCollector, ReflectorSink, ReflectorState } from './informer-types.ts';
export { createInformer } from './informer.ts';
export { faultOf, rawTextOf } from './head.ts';
export { findResource } from './find-resource.ts';
export { ListBounds } from './list-bounds.ts';
export { Reflector } from './reflector.ts';
export { SharedClients } from './shared-clients.ts';
export { SingleFlight } from './single-flight.ts';
export type { ClusterClients } from './shared-clients.ts';
export { isOlderVersion } from './version.ts';
export type {
  InformerOptions,
  ReflectorOptions,
  ReflectorStats,
  ReflectorTarget,
  ReflectorTuning,
  WentBack,
} from './reflector-types.ts';
