import { readFileSync } from 'node:fs';

/** One request as the API server's audit log has it (stage ResponseComplete; a watch also when it started). */
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
  /** Only of deletions (level Request): their options, where a dry run may be asked for. */
  readonly requestObject?: { readonly dryRun?: readonly string[] };
  readonly responseStatus?: { readonly code?: number; readonly reason?: string; readonly message?: string };
  readonly requestReceivedTimestamp: string;
  /** `authorization.k8s.io/decision` (allow, forbid) and `authorization.k8s.io/reason`, which names the RBAC binding and role that allowed it. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything is logged once, at its end; long-running requests at their start too. Deletions with their options, the rest without bodies. */
export const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [delete, deletecollection]
- level: Metadata
`;

/** Reads the log as far as it is written; a half line at its end is left for later. */
export function readAudit(path: string): AuditEvent[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditEvent);
}

/** Is it this ServiceAccount's? */
export function isBy(event: AuditEvent, namespace: string, serviceAccount: string): boolean {
  return event.user.username === `system:serviceaccount:${namespace}:${serviceAccount}`;
}

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** Would it have changed something if it was let through? Dry runs count: see {@link isDryRun}. */
export function isWrite(event: AuditEvent): boolean {
  return writes.has(event.verb);
}

/** Did it ask the server not to store anything? Updates say so in the address, deletions there or in their options. */
export function isDryRun(event: AuditEvent): boolean {
  const inAddress = new URL(event.requestURI, 'http://server').searchParams.getAll('dryRun');
  return [...inAddress, ...(event.requestObject?.dryRun ?? [])].includes('All');
}

/** A request in one line, for lists that ought to be empty. */
export function describeRequest({ verb, requestURI, responseStatus }: AuditEvent): string {
  return `${verb} ${requestURI} ${responseStatus?.code ?? ''}`.trimEnd();
}
