import { defined, isObject, stringifyJson } from '#base';
import type { JsonObject } from '#base';
import type { HydratedPath } from '#desired';
import type { AppKey, Application } from '#model';
import { kubeTime, parseTime } from '../shared/kube-time.ts';

/** `status.sourceHydrator`. */
export interface HydrationStatus {
  readonly lastSuccessfulOperation?: SuccessfulHydration;
  readonly currentOperation?: HydrationOperation;
  readonly lastComparedDryRevision?: string;
}

export interface SuccessfulHydration {
  readonly drySHA?: string;
  readonly hydratedSHA?: string;
  readonly sourceHydrator?: JsonObject;
}

export interface HydrationOperation extends SuccessfulHydration {
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly phase: 'Hydrating' | 'Failed' | 'Hydrated';
  readonly message: string;
}

/** The outcome of a hydration of a group. */
export interface HydrationResult {
  readonly drySha: string;
  readonly hydratedSha: string;
}

/** The stored status; parts of another shape count as missing. */
export function hydrationStatusOf(app: Application): HydrationStatus {
  const stored = app.status?.sourceHydrator;
  if (!isObject(stored)) return {};
  const { currentOperation, lastSuccessfulOperation, lastComparedDryRevision } = stored;
  return {
    ...(isObject(currentOperation) && isOperation(currentOperation) ? { currentOperation } : {}),
    ...(isObject(lastSuccessfulOperation) ? { lastSuccessfulOperation } : {}),
    ...(typeof lastComparedDryRevision === 'string' ? { lastComparedDryRevision } : {}),
  };
}

function isOperation(value: JsonObject): value is JsonObject & HydrationOperation {
  const { phase } = value;
  return phase === 'Hydrating' || phase === 'Failed' || phase === 'Hydrated';
}

/** The start of a hydration. One that is in progress keeps its time. */
export function hydrating(status: HydrationStatus, spec: JsonObject, now: number): HydrationStatus {
  if (status.currentOperation?.phase === 'Hydrating') return status;
  const currentOperation: HydrationOperation = {
    startedAt: kubeTime(now),
    phase: 'Hydrating',
    message: '',
    sourceHydrator: spec,
  };
  return { ...status, currentOperation };
}

/** The end of a failed hydration. @param drySha the dry commit, if it is known. */
export function hydrationFailed(
  status: HydrationStatus,
  error: string,
  { drySha, now }: { readonly drySha: string; readonly now: number },
): HydrationStatus {
  const { startedAt, sourceHydrator, drySHA } = status.currentOperation ?? {};
  const currentOperation: HydrationOperation = {
    ...defined({ startedAt, sourceHydrator, drySHA: drySha === '' ? drySHA : drySha }),
    finishedAt: kubeTime(now),
    phase: 'Failed',
    message: `Failed to hydrate: ${error}`,
  };
  return { ...status, currentOperation, ...(drySha === '' ? {} : { lastComparedDryRevision: drySha }) };
}

export function hydrated(
  status: HydrationStatus,
  { drySha, hydratedSha }: HydrationResult,
  now: number,
): HydrationStatus {
  const { startedAt, sourceHydrator } = status.currentOperation ?? {};
  const result = { drySHA: drySha, hydratedSHA: hydratedSha, ...defined({ sourceHydrator }) };
  return {
    currentOperation: {
      ...defined({ startedAt }),
      finishedAt: kubeTime(now),
      phase: 'Hydrated',
      message: '',
      ...result,
    },
    lastSuccessfulOperation: result,
    lastComparedDryRevision: drySha,
  };
}

/**
 * The errors of a group: each Application shows its own, the others which Application has one
 * (Argo CD: genericHydrationError).
 */
export function errorFor(key: string, errors: ReadonlyMap<string, string>): string {
  const own = errors.get(key);
  if (own !== undefined) return own;
  const [first = '', ...more] = [...errors.keys()].sort();
  const rest = more.length === 0 ? 'has an error' : `and ${more.length} more have errors`;
  return `cannot hydrate because application ${first} ${rest}`;
}

/** How long ago a time of the status was; undefined if it is missing. */
export function ageMs(time: string | undefined, now: number): number | undefined {
  const at = parseTime(time);
  return at === undefined ? undefined : now - at;
}

/** The findings of one run about a group. */
export class GroupOutcome {
  readonly errors = new Map<string, string>();
  readonly rendered = new Map<AppKey, HydratedPath>();
  drySha = '';
  result: HydrationResult | undefined;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Keeps manifests for the commit. JSON has up to three times the bytes of YAML (`\e`). */
  add(key: AppKey, path: HydratedPath): void {
    this.#bytes += Buffer.byteLength(stringifyJson(path.objects));
    if (this.#bytes <= 3 * this.#maxBytes) this.rendered.set(key, path);
    else
      this.fail(key, `the manifests of the group have more than ${this.#maxBytes} bytes: hydrate to several branches`);
  }

  fail(key: AppKey, error: string): void {
    this.errors.set(key, error);
  }
}
