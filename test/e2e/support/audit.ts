import { readFileSync } from 'node:fs';

/**
 * A request in the API server's audit log (stage ResponseComplete; for watches also
 * ResponseStarted).
 */
export interface AuditEvent {
  readonly auditID: string;
  readonly stage: 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string; readonly groups?: readonly string[] };
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly apiVersion?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  /** Options of a deletion (level Request), which can request a dry run. */
  readonly requestObject?: { readonly dryRun?: readonly string[] };
  readonly responseStatus?: { readonly code?: number; readonly reason?: string; readonly message?: string };
  readonly requestReceivedTimestamp: string;
  /**
   * `authorization.k8s.io/decision` (allow, forbid) and `authorization.k8s.io/reason` with the
   * binding and role that allowed it.
   */
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Logs each request at its end, long-running ones also at their start. Only deletions with bodies.
 */
export const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [delete, deletecollection]
- level: Metadata
`;

/** Reads the complete lines of the log. */
export function readAudit(path: string): AuditEvent[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditEvent);
}

/** Whether a request is from a ServiceAccount. */
export function isBy(event: AuditEvent, namespace: string, serviceAccount: string): boolean {
  return event.user.username === `system:serviceaccount:${namespace}:${serviceAccount}`;
}

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Whether a request is a write. Dry runs count: see {@link isDryRun}. */
export function isWrite(event: AuditEvent): boolean {
  return writes.has(event.verb);
}

/** Whether a write is a dry run, by its URL or, for deletions, by its options. */
export function isDryRun(event: AuditEvent): boolean {
  const inAddress = new URL(event.requestURI, 'http://server').searchParams.getAll('dryRun');
  return [...inAddress, ...(event.requestObject?.dryRun ?? [])].includes('All');
}

/** A request as one line, for the messages of failed tests. */
export function describeRequest({ verb, requestURI, responseStatus }: AuditEvent): string {
  return `${verb} ${requestURI} ${responseStatus?.code ?? ''}`.trimEnd();
}
