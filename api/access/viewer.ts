import { applicationsRight } from './rights.ts';
import type { ResourceRight } from './rights.ts';

/** The rights of a caller. */
export interface Viewer {
  /** Its name, for limits; absent: it has none. */
  readonly user?: string;
  /** Shares limits with the caller: the namespace of a ServiceAccount, otherwise the user. */
  readonly tenant?: string;
  /** It may see everything, and nothing is asked. */
  readonly isFull?: boolean;
  /**
   * Whether the API server permits it, everywhere or in the namespace of the right.
   * @throws ApiFault 503 if that cannot be found out, 429 if it asks too much
   */
  may(right: ResourceRight, signal: AbortSignal): Promise<boolean>;
}

/** The controller's own user on its socket, and other replicas. */
export const fullViewer: Viewer = { isFull: true, may: () => Promise.resolve(true) };

/** Whether it may get Applications in a namespace; "" for all. */
export function mayReadApplications(viewer: Viewer, namespace: string, signal: AbortSignal): Promise<boolean> {
  return viewer.may(applicationsRight(namespace), signal);
}

export interface Caller {
  readonly viewer: Viewer;
  /** Another replica: it gets what this replica knows, and no other is asked for it. */
  readonly isPeer: boolean;
  /** Gets a page that is assembled anew, not one of the last second. */
  readonly wantsFresh?: boolean;
}
