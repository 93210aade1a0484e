/**
 * api: the read API. Which facts of this replica, and of all replicas, may a caller see?
 *
 * `GET /api/v1/…` answers with versioned JSON (docs/api.md), over a Unix socket of the controller's
 * user and over HTTPS with a Kubernetes token. Facts stay in the modules that have them: readers of
 * `cli/run` hand them over. Stored here are only answers, for a second, and the figures of the last
 * hour (history/). `GET /api/v1/stream` tells what changed (stream/).
 */
export { hubKindsOf } from './access/hub-kinds.ts';
export { TokenAccess } from './access/token-access.ts';
export { fullViewer } from './access/viewer.ts';
export type { Caller, Viewer } from './access/viewer.ts';
export type { ProcessFacts, ReplicaFacts } from './facts.ts';
export { ApiFault } from './fault.ts';
export { createCertificate, fingerprintOf } from './http/certificate.ts';
export type { ApiCertificate } from './http/certificate.ts';
export { createApiHandler } from './http/handler.ts';
export { parseLinkTemplate } from './links.ts';
export type { LinkTemplate } from './links.ts';
export { ReplicaHistoryRecorder } from './history/history.ts';
export { ApiSocket } from './http/api-socket.ts';
export { ApiServer } from './http/tls-server.ts';
export { PeerDirectory } from './peers/directory.ts';
export type { Peers } from './peers/types.ts';
export { ReadApi } from './read-api.ts';
export { parseApiRequest } from './request.ts';
export { apiVersion, costSubjects } from './types.ts';
export type {
  ClusterKind,
  ClusterOwner,
  ClusterResponse,
  ClustersResponse,
  CostRow,
  UpdateRule,
  CostsResponse,
  CostSubject,
  HandOver,
  OwnedCluster,
  Queue,
  QueuesResponse,
  ReplicaInfo,
  ReplicaResponse,
  RepositoriesResponse,
  Repository,
} from './types.ts';
export type {
  Application,
  ApplicationOperation,
  ApplicationResponse,
  ApplicationsResponse,
  ApplicationSummary,
  RecordingResponse,
} from './application-types.ts';
export type { HistorySample, PlannedMove, TreeNode } from './view-types.ts';
export { counted, explainApplication, joined, objectText, RelativeTimes, shortDuration } from './words/index.ts';
export type { Explanation, ExplanationSection, Verdict } from './words/index.ts';
