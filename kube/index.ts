/**
 * kube: how to talk to an API server. A thin raw client over shared connections, discovery, a
 * reflector that survives server and network failures, and an informer on top of it. Objects pass
 * through unchanged: no field is ever dropped.
 *
 * Only one file uses @kubernetes/client-node: it reads kubeconfig and in-cluster configuration.
 */
export { apiResource } from './discovery/api-resource.ts';
export { createKubeClient } from './client.ts';
export { answerMessage, PodProxy } from './pod-proxy.ts';
export type { PodProxyAnswer, ProxiedPod } from './pod-proxy.ts';
export type { KubeClientDeps, KubeClientLimits, RequestRecord } from './client-types.ts';
export type { CommandRequest, CommandResult, RunCommand } from './credentials/command-types.ts';
export type { ByteLimits } from './bytes/byte-limits.ts';
export {
  connectionFromConfig,
  connectionFromFlags,
  connectionFromKubeconfig,
  inClusterConnection,
} from './config/config.ts';
export type { KubeConfigReader } from './config/config-reader.ts';
export type { LoadedConnection } from './config/config.ts';
export type { ConnectionOverrides } from './config/overrides.ts';
export {
  isAlreadyExists,
  isConflict,
  isExpired,
  isInvalid,
  isForbidden,
  isTooLarge,
  isNotFound,
  KubeApiError,
  KubeConnectionError,
  KubeCredentialError,
  KubeProtocolError,
  KubeReadOnlyError,
  KubeRequestError,
  KubeSizeError,
  unlessNotFound,
} from './errors.ts';
export type {
  ApiDiscovery,
  CallOptions,
  CheckedCall,
  DeleteOptions,
  KubeClient,
  KubeReader,
  ListOptions,
  ListPage,
  NamedObject,
  PodLogOptions,
  Patch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './types.ts';
export type {
  Informer,
  InformerEvent,
  ListCollector,
  ReflectorSink,
  ReflectorState,
} from './reflector/informer-types.ts';
export { createInformer } from './reflector/informer.ts';
export { faultOf, rawTextOf } from './requests/head.ts';
export { warningsOf } from './requests/warnings.ts';
export { findResource } from './discovery/find-resource.ts';
export { openApiPath, readOpenApiDocument } from './discovery/open-api-document.ts';
export { ListBounds, listLimits } from './reflector/list-bounds.ts';
export type { ListLimits } from './reflector/list-bounds.ts';
export { Reflector } from './reflector/reflector.ts';
export type { HttpRequest, HttpResponse, RequestTransport } from './transport/http-types.ts';
export { isSocks, SocksTunnels } from './transport/socks.ts';
export { SharedClients } from './shared-clients.ts';
export { withOptions } from './with-options.ts';
export { ClientInstruments } from './instruments/client-instruments.ts';
export { SingleFlight } from './single-flight.ts';
export type { ClusterClients } from './shared-clients.ts';
export { isOlderVersion } from './reflector/version.ts';
export { WatchListSupport } from './reflector/watch-list-support.ts';
export type { ReflectorOptions, ReflectorTuning, VersionRegression } from './reflector/reflector-types.ts';
