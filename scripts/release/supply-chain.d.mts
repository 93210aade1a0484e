export interface AuditException {
  readonly id: string;
  readonly reason: string;
  readonly until: string;
}

export function licenceFaults(
  packages: Readonly<Record<string, object>>,
  readLicence: (path: string) => string | undefined,
): string[];

export function judgeAudit(
  answer: unknown,
  exceptions: readonly AuditException[],
  today: string,
): { readonly faults: string[]; readonly unanswered?: string };

export function licenceOf(description: {
  readonly license?: string;
  readonly licenses?: readonly { readonly type: string }[];
}): string | undefined;
