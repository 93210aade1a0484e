import { pageNameOf, pageRights } from '../access/page-rights.ts';
import { mayReadApplications } from '../access/viewer.ts';
import type { Viewer } from '../access/viewer.ts';
import { ApiFault } from '../fault.ts';
import type { ApiRequest } from '../request.ts';
import type { PageAccess } from './page-access.ts';
import { readableNamespaces } from './visible.ts';
import type { ReadableNamespaces } from './visible.ts';

export interface Authorized {
  /** Undefined: the page is not one of Applications. */
  readonly readable: ReadableNamespaces | undefined;
  readonly isAdmin: boolean;
}

/**
 * Checks the rights that a page needs, and finds the namespaces that the viewer may read on a page
 * of Applications. They do not depend on filters, which would tell by time or errors what others
 * have.
 * @throws ApiFault 403 with the right that is missing
 */
export async function authorize(
  request: ApiRequest,
  { viewer, access, namespaces, controller }: AuthorizeFacts,
  signal: AbortSignal,
): Promise<Authorized> {
  const { needs, leavesOut } = pageRights[pageNameOf(request)];
  for (const right of needs) {
    const missing = await access.missing(right);
    if (missing !== undefined) throw new ApiFault(403, `this page needs the right to ${missing}`);
  }
  const readable = async (): Promise<ReadableNamespaces | undefined> => {
    if ('namespace' in request) return new Set([request.namespace]);
    if (needs.length > 0 || !leavesOut.includes('applications')) return undefined;
    const wanted = request.page === 'applications' ? request.filters.namespace : undefined;
    return readableNamespaces(wanted === undefined ? namespaces() : [wanted], viewer, signal);
  };
  const isAdmin = needs.includes('control') || (await mayReadApplications(viewer, controller, signal));
  return { readable: await readable(), isAdmin };
}

export interface AuthorizeFacts {
  readonly viewer: Viewer;
  readonly access: PageAccess;
  /** Namespaces with Applications. */
  readonly namespaces: () => readonly string[];
  /** The controller's own namespace. */
  readonly controller: string;
}
