import type { ApiRequest } from '../request.ts';
import type { CostSubject } from '../types.ts';
import type { RightName } from './rights.ts';

/** A row of the table in docs/api.md. */
export type PageName = Exclude<ApiRequest['page'], 'costs'> | `costs/${CostSubject}` | 'stream';

export interface PageRights {
  /** A caller without one of them gets 403, which names it. */
  readonly needs: readonly RightName[];
  /** Without one of them, what it shows is left out. */
  readonly leavesOut: readonly RightName[];
}

/** The rights that each page needs for everything in it. docs/api.md is checked against this. */
export const pageRights: Readonly<Record<PageName, PageRights>> = {
  replica: { needs: ['control'], leavesOut: ['clusters', 'repositories'] },
  ownership: { needs: ['control', 'clusters'], leavesOut: [] },
  clusters: { needs: ['control', 'clusters'], leavesOut: [] },
  cluster: { needs: ['control', 'clusters'], leavesOut: ['objects'] },
  queues: { needs: ['control'], leavesOut: ['applications'] },
  applications: { needs: [], leavesOut: ['applications', 'clusters'] },
  application: { needs: ['applications'], leavesOut: ['clusters', 'objects'] },
  tree: { needs: ['applications'], leavesOut: ['objects'] },
  object: { needs: ['applications'], leavesOut: ['objects'] },
  'object/events': { needs: ['applications', 'objectEvents'], leavesOut: [] },
  'object/log': { needs: ['applications', 'log'], leavesOut: [] },
  recording: { needs: ['applications', 'settings', 'projects', 'clusters', 'everyObject'], leavesOut: [] },
  plan: { needs: ['control', 'clusters'], leavesOut: [] },
  history: { needs: ['control'], leavesOut: [] },
  repositories: { needs: ['control', 'repositories'], leavesOut: [] },
  events: { needs: [], leavesOut: ['applications', 'control', 'clusters'] },
  stream: { needs: [], leavesOut: ['applications', 'clusters'] },
  'costs/apps': { needs: [], leavesOut: ['applications'] },
  'costs/clusters': { needs: ['control', 'clusters'], leavesOut: [] },
  'costs/kinds': { needs: ['control', 'clusters'], leavesOut: [] },
  'costs/repositories': { needs: ['control', 'repositories'], leavesOut: [] },
  'costs/projects': { needs: ['control', 'projects'], leavesOut: [] },
};

export function pageNameOf(request: ApiRequest): PageName {
  return request.page === 'costs' ? `costs/${request.subject}` : request.page;
}
