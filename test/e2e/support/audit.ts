import { readFileSync } from 'node:fs';

/** One request as the API server's audit log has it (level Metadata, stage ResponseComplete; a watch also when it started). */
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
  readonly responseStatus?: { readonly code?: number; readonly reason?: string; readonly message?: string };
  readonly requestReceivedTimestamp: string;
  /** `authorization.k8s.io/decision` (allow, forbid) and `authorization.k8s.io/reason`, which names the RBAC binding and role that allowed it. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything is logged once, at its end; long-running requests at their start too. */
export const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
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
