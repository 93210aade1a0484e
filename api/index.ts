/**
 * api: the read API. Which facts of this replica, and of all replicas, may a caller see?
 *
 * `GET /api/v1/…` answers with versioned JSON (docs/api.md), over a Unix socket of the controller's
 * user and over HTTPS with a Kubernetes token. Facts stay in the modules that have them: readers of
 * `cli/run` hand them over. Stored here are only answers, for a second, and the figures of the last
 * hour (history/). `GET /api/v1/stream` tells what changed (stream/).
 */
export { hubKindsOf } from './access/hub-kinds.ts';
export type { HubKinds } from './access/hub-kinds.ts';
export { pageRights } from './access/page-rights.ts';
export type { PageName, PageRights } from './access/page-rights.ts';
export { alternativesOf } from './access/rights.ts';
export type { ResourceRight, RightName } from './access/rights.ts';
export { TokenAccess } from './access/token-access.ts';
export { fullViewer } from './access/viewer.ts';
export type { Caller, Viewer } from './access/viewer.ts';
export type { ProcessFacts, ReplicaFacts } from './facts.ts';
export { ApiFault } from './fault.ts';
export { createCertificate, fingerprintOf } from './http/certificate.ts';
export type { ApiCertificate } from './http/certificate.ts';
export { createApiHandler } from './http/handler.ts';
export type { StaticFile, StaticFiles } from './http/handler.ts';
export { parseLinkTemplate } from './links.ts';
export type { LinkTemplate } from './links.ts';
export { ReplicaHistoryRecorder } from './history/history.ts';
export { ApiSocket } from './http/api-socket.ts';
export type { ApiSocketOptions } from './http/api-socket.ts';
export { ApiServer } from './http/tls-server.ts';
export { PeerDirectory } from './peers/directory.ts';
export type { Peer, Peers } from './peers/types.ts';
export { ReadApi } from './read-api.ts';
export { apiRoot, formatApiRequest, parseApiRequest } from './request.ts';
export type { ApiRequest, ApplicationFilters, PlannedChange } from './request.ts';
export { apiVersion, costSubjects } from './types.ts';
export type {
  ApiError,
  ApiErrorReason,
  ApiResponse,
  ClusterKind,
  ClusterOwner,
  ClusterPart,
  ClusterResponse,
  ClustersResponse,
  ClusterSummary,
  CostRow,
  UpdateRule,
  CostsResponse,
  CostSubject,
  Degradation,
  EventsResponse,
  EventType,
  HandOver,
  HandOverReason,
  HiddenPart,
  IncompletePart,
  Link,
  NoisyObject,
  ObjectName,
  OwnedCluster,
  OwnershipCondition,
  OwnershipResponse,
  PausedSource,
  Queue,
  QueueItem,
  QueuePriority,
  QueueRate,
  QueuesResponse,
  RecentEvent,
  ReplicaInfo,
  ReplicaResponse,
  RepositoriesResponse,
  Repository,
  Slot,
  Time,
} from './types.ts';
export type {
  Application,
  ApplicationHealth,
  ApplicationOperation,
  ApplicationOwnership,
  ApplicationResponse,
  ApplicationsResponse,
  ApplicationSummary,
  AutomatedSync,
  AutomatedSyncCheck,
  Condition,
  FieldDifference,
  FieldWriter,
  FullQueue,
  IgnoredDifference,
  ObjectHealth,
  OperationBlocker,
  OperationResource,
  Pass,
  PassCause,
  PassStages,
  ReportedCommit,
  ReportedSource,
  RecordingPiece,
  RecordingResponse,
  ResourceCounts,
  ResourceDifference,
  Waiting,
} from './application-types.ts';
export type {
  HistoryResponse,
  HistorySample,
  PlannedMove,
  PlanResponse,
  ReplicaHistory,
  StreamEvent,
  TreeNode,
  TreeResponse,
} from './view-types.ts';
export { counted, explainApplication, joined, objectText, RelativeTimes, shortDuration } from './words/index.ts';
export type { Explanation, ExplanationSection, Verdict } from './words/index.ts';
