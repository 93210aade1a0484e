import { defined } from '#base';
import type {
  Application,
  ApplicationOperation,
  ApplicationVerdict,
  Condition,
  OperationResource,
  UnjudgedApplication,
} from '../application-types.ts';
import type { Degradation } from '../types.ts';
import { isUnderWay } from '../words/application.ts';
import { blockerReason, decisiveResource, objectText } from '../words/object-text.ts';
import { joined } from '../words/explanation.ts';
import { adviceFor, blockerAdvice } from './advice.ts';
import type { AdviceTerms } from './advice.ts';
import { causeOfCondition, causeOfResult, tellingPart, urgencyOfCause, verdictCauses } from './causes.ts';
import type { VerdictCause } from './causes.ts';

/** The facts about one Application that decide: its own, and those of the parts that it uses. */
export type VerdictFacts = Pick<
  Application,
  | 'namespace'
  | 'name'
  | 'project'
  | 'owner'
  | 'shard'
  | 'server'
  | 'clusterName'
  | 'sync'
  | 'health'
  | 'operation'
  | 'isAutomated'
  | 'isDeleting'
  | 'comparedAt'
  | 'conditions'
  | 'degraded'
  | 'ownership'
  | 'healthDetails'
  | 'automatedSync'
  | 'lastOperation'
  | 'waiting'
>;

export interface VerdictTerms extends Omit<AdviceTerms, 'object'> {
  readonly now: number;
  /** An Application is compared at least this often; 0: only when something changes. */
  readonly resyncMs: number;
  /** Why the owner did not answer; absent: the facts are those of the owner. */
  readonly ownerSilent?: string | undefined;
  /** The facts are the stored status only: what the owner has in memory is unknown here. */
  readonly isStatusOnly?: boolean;
}

interface Finding extends Pick<ApplicationVerdict, 'since' | 'until' | 'next'> {
  readonly cause: VerdictCause;
  readonly reason: string;
  /** The object to blame, for the advice. */
  readonly object?: AdviceTerms['object'];
}

/**
 * Whether an Application works, and the most important fact if it does not. Lists, pages, `explain`
 * with its exit code, the metric and the alert all show this verdict: nothing else decides.
 */
export function verdictOf(facts: VerdictFacts, terms: VerdictTerms): ApplicationVerdict {
  const finding =
    ownerFinding(facts) ??
    deletionFinding(facts, terms) ??
    conditionFinding(facts) ??
    (facts.sync === 'Unknown' ? partFinding(facts, 'broken') : undefined) ??
    operationFinding(facts) ??
    remainingConditions(facts) ??
    healthFinding(facts) ??
    partFinding(facts, 'broken') ??
    unknownFinding(facts) ??
    silenceFinding(facts, terms) ??
    waitFinding(facts, terms) ??
    partFinding(facts, 'waiting') ??
    ageFinding(facts, terms);
  const source = sourceOf(facts, terms);
  if (finding === undefined) return { verdict: 'healthy', cause: 'fine', ...source };
  const { object, next, ...rest } = finding;
  const advice = next ?? adviceFor(finding.cause, facts, { ...terms, object });
  return { verdict: verdictCauses[finding.cause], ...rest, ...defined({ next: advice }), ...source };
}

/** How old the facts are, and who states them. */
function sourceOf(
  { owner, comparedAt, ownership }: VerdictFacts,
  { ownerSilent, isStatusOnly }: VerdictTerms,
): Pick<ApplicationVerdict, 'comparedAt' | 'source' | 'by'> {
  const compared = defined({ comparedAt });
  if (owner === '' || ownerSilent !== undefined || isStatusOnly === true) return { ...compared, source: 'status' };
  const isOlder = comparedAt !== undefined && Date.parse(comparedAt) < Date.parse(ownership.since);
  return { ...compared, source: isOlder ? 'former-owner' : 'owner', by: owner };
}

function ownerFinding({ owner, ownership, shard }: VerdictFacts): Finding | undefined {
  if (owner !== '') return undefined;
  const { pinnedTo, unownedSince } = ownership;
  const home = shard === undefined ? 'a shard that has its cluster' : `shard ${shard}`;
  const why = pinnedTo === undefined ? '' : ', to which its cluster Secret pins it';
  return { cause: 'no-owner', reason: `no replica holds ${home}${why}`, ...defined({ since: unownedSince }) };
}

function deletionFinding(facts: VerdictFacts, terms: VerdictTerms): Finding | undefined {
  const { isDeleting, conditions, lastOperation, waiting } = facts;
  if (!isDeleting) return undefined;
  const error = conditions.find(({ type }) => type === 'DeletionError');
  if (error !== undefined) return foundIn(error, 'deletion');
  const silence = silenceFinding(facts, terms);
  if (silence !== undefined) return silence;
  const blocker = lastOperation?.type === 'deletion' ? lastOperation.blockedBy : undefined;
  if (lastOperation === undefined || blocker === undefined)
    return { cause: 'deleting', reason: joined(['its deletion', waiting?.what], ': ') };
  const { since, until } = blocker;
  const reason = joined(['its deletion', blockerReason(lastOperation, blocker)], ': ');
  return { cause: 'deleting', reason, ...defined({ since, until }) };
}

function foundIn({ type, message, since }: Condition, cause: VerdictCause): Finding {
  const isUnclear = cause === 'error' || cause === 'comparison';
  return { cause, reason: isUnclear ? `${type}: ${message}` : tellingPart(message), ...defined({ since }) };
}

/** The most urgent condition that is a fault of its own; SyncError repeats the operation. */
function conditionFinding({ conditions, degraded }: VerdictFacts): Finding | undefined {
  const found = conditions
    .filter(({ type }) => type !== 'SyncError' && type !== 'ContestedResourceWarning')
    .flatMap((condition): readonly Finding[] => {
      const cause = causeOfCondition(condition.type, condition.message);
      return cause === undefined ? [] : [foundIn(condition, cause)];
    })
    .toSorted((a, b) => urgencyOfCause(a.cause) - urgencyOfCause(b.cause));
  const [first] = found;
  if (first?.cause !== 'rendering') return first;
  // A failing repository explains an error of a source that does not name its kind.
  return degraded.some(({ type }) => type === 'repository') ? { ...first, cause: 'repository' } : first;
}

function remainingConditions({ conditions }: VerdictFacts): Finding | undefined {
  const condition = conditions.find(({ type }) => type === 'SyncError' || type === 'ContestedResourceWarning');
  const cause = condition && causeOfCondition(condition.type, condition.message);
  return condition === undefined || cause === undefined ? undefined : foundIn(condition, cause);
}

/** The causes that parts of a replica can be. */
const partCauses: Readonly<Partial<Record<Degradation['type'], VerdictCause>>> = {
  cluster: 'cluster',
  kind: 'kind',
  repository: 'repository',
  source: 'rendering',
};

/** A part that the Application uses and that has this effect. */
function partFinding({ degraded }: VerdictFacts, wanted: 'broken' | 'waiting'): Finding | undefined {
  const part = degraded.find(({ effect = 'broken' }) => effect === wanted);
  if (part === undefined) return undefined;
  const { type, subject, message, since, until, advice } = part;
  const cause = wanted === 'waiting' ? 'listing' : (causeOfPart(part) ?? 'error');
  const reason = type === 'source' ? message : `${subject}: ${message}`;
  return { cause, reason, next: advice, ...defined({ since, until }) };
}

function causeOfPart({ type, message }: Degradation): VerdictCause | undefined {
  if (type !== 'source') return partCauses[type];
  return causeOfCondition('ComparisonError', `Failed to load target state: ${message}`);
}

function operationFinding(facts: VerdictFacts): Finding | undefined {
  const { operation, lastOperation } = facts;
  if (operation === 'Failed' || operation === 'Error')
    return failedSync(lastOperation, `the last sync ended with ${operation}`, lastOperation?.finishedAt);
  if (lastOperation?.blockedBy?.type !== 'retry' || !isUnderWay(facts)) return undefined;
  const { retries, blockedBy } = lastOperation;
  const prefix = retries === 0 ? 'the sync fails' : `retry ${retries} of the sync fails`;
  const found = failedSync(lastOperation, prefix, blockedBy.since);
  // Another attempt may succeed, unless it needs a kind or a right that is missing.
  return lasting.has(found.cause) ? { ...found, ...defined({ until: blockedBy.until }) } : undefined;
}

function failedSync(operation: ApplicationOperation | undefined, prefix: string, since: string | undefined): Finding {
  const { message = '' } = operation ?? {};
  const blamed = blamedResult(operation);
  const cause = blamed?.cause ?? causeOfResult(message) ?? 'operation';
  const reason = joined([prefix, blamed === undefined ? message : resultText(blamed.result)], ': ');
  return { cause, reason, object: blamed?.result, ...defined({ since }) };
}

const lasting: ReadonlySet<VerdictCause> = new Set(['kind-missing', 'kind-denied', 'rights'] as const);

/** The first result that failed, those with a cause that no retry repairs before others. */
function blamedResult(
  operation: ApplicationOperation | undefined,
): { readonly result: OperationResource; readonly cause: VerdictCause } | undefined {
  const failed = (operation?.resources ?? []).flatMap((result) => {
    // Every result has the phase of its object; only a hook also has a type.
    const isFailed = result.hookPhase === 'Failed' || result.hookPhase === 'Error';
    const isHook = isFailed && result.hookType !== undefined;
    if (!isFailed && result.status !== 'SyncFailed') return [];
    return [{ result, cause: causeOfResult(result.message) ?? (isHook ? ('hook' as const) : ('object' as const)) }];
  });
  return failed.toSorted((a, b) => urgencyOfCause(a.cause) - urgencyOfCause(b.cause))[0];
}

function resultText(result: OperationResource): string {
  const hook = result.hookType === undefined ? '' : `${result.hookType} hook `;
  return joined([`${hook}${objectText(result)}`, result.message], ': ');
}

function healthFinding(facts: VerdictFacts): Finding | undefined {
  const { health, healthDetails, sync } = facts;
  const { decidedBy, since } = healthDetails;
  // Before its first sync, an Application waits for that sync.
  const isMissing = health === 'Missing' && sync !== 'OutOfSync' && !isUnderWay(facts);
  if (health !== 'Degraded' && !isMissing) return undefined;
  const object = decidedBy?.culprit ?? decidedBy;
  const cause = isMissing ? 'missing' : 'degraded';
  return { cause, reason: decisiveResource(healthDetails, health), object, ...defined({ since }) };
}

function unknownFinding({ sync }: VerdictFacts): Finding | undefined {
  return sync === 'Unknown' ? { cause: 'comparison', reason: 'it could not be compared' } : undefined;
}

function waitFinding(facts: VerdictFacts, terms: VerdictTerms): Finding | undefined {
  const { waiting, operation, sync } = facts;
  const wait = defined({ since: waiting?.since, until: waiting?.until });
  if (waiting?.queue !== undefined) return { cause: 'queue', reason: waiting.what, ...wait };
  const blocked = blockedFinding(facts, terms);
  if (blocked !== undefined) return blocked;
  if (waiting !== undefined) return { cause: isUnderWay(facts) ? 'syncing' : 'other', reason: waiting.what, ...wait };
  if (isUnderWay(facts)) return { cause: 'syncing', reason: `the operation is ${operation}` };
  if (sync === '') return { cause: 'first-comparison', reason: 'its first comparison' };
  return sync === 'OutOfSync' ? automationFinding(facts) : unreadyFinding(facts);
}

/** The blocker of the running operation. */
function blockedFinding(facts: VerdictFacts, terms: VerdictTerms): Finding | undefined {
  const { lastOperation } = facts;
  const blocker = lastOperation?.blockedBy;
  if (lastOperation === undefined || blocker === undefined || !isUnderWay(facts)) return undefined;
  const { type, since, until } = blocker;
  const cause = type === 'retry' ? 'retry' : type === 'window' ? 'sync-blocked' : 'syncing';
  const next = blockerAdvice(facts, blocker, terms);
  return { cause, reason: blockerReason(lastOperation, blocker), ...defined({ next, since, until }) };
}

function unreadyFinding({ health, healthDetails }: VerdictFacts): Finding | undefined {
  if (health === 'Healthy' || health === '') return undefined;
  const cause = health === 'Suspended' ? 'suspended' : 'progressing';
  return { cause, reason: decisiveResource(healthDetails, health), ...defined({ since: healthDetails.since }) };
}

function automationFinding({ automatedSync, isAutomated }: VerdictFacts): Finding {
  const { decision, reason, until, checks } = automatedSync;
  if (!isAutomated) return { cause: 'sync-off', reason: 'a sync by a user: automated sync is switched off' };
  if (decision === 'none') return { cause: 'syncing', reason: 'automated sync' };
  const isHeld = checks.some((check) => check.name === 'window' && !check.passes);
  return { cause: isHeld ? 'sync-held' : 'syncing', reason, ...defined({ until }) };
}

/** Whatever it waits for, its owner has to do it. */
function silenceFinding({ owner }: VerdictFacts, { ownerSilent }: VerdictTerms): Finding | undefined {
  if (ownerSilent === undefined) return undefined;
  return { cause: 'owner-silent', reason: `its owner ${owner}, which does not answer: ${ownerSilent}` };
}

/** Facts that are older than a resync prove nothing about now. */
function ageFinding(facts: VerdictFacts, { now, resyncMs, isStatusOnly }: VerdictTerms): Finding | undefined {
  const { owner, comparedAt, ownership } = facts;
  // An idle Application is not written: an old status alone proves nothing.
  if (isStatusOnly === true || resyncMs <= 0) return undefined;
  const at = Date.parse(comparedAt ?? '');
  if (now - at <= overdueResyncs * resyncMs) return undefined;
  const isTakenUp = Number.isNaN(at) || at < Date.parse(ownership.since);
  const reason = isTakenUp
    ? `a comparison: none since ${owner} took it up`
    : 'a comparison: the last one is older than two resyncs';
  return { cause: 'stale', reason, ...defined({ since: isTakenUp ? ownership.since : comparedAt }) };
}

/** A resync that is due waits for its turn. */
const overdueResyncs = 2;

/** The page of an Application with its verdict. */
export function withVerdict(page: unknown, terms: VerdictTerms): Application {
  const application = page as UnjudgedApplication;
  const verdict = verdictOf(application, terms);
  return { ...application, verdict, ...defined({ attention: attentionOf(verdict) }) };
}

/** The reason of a verdict for one row of a list; undefined: the Application is fine. */
export function attentionOf({ verdict, reason = '' }: ApplicationVerdict): string | undefined {
  if (verdict === 'healthy') return undefined;
  return (verdict === 'waiting' ? `waits for ${reason}` : reason).slice(0, maxAttention);
}

const maxAttention = 300;
