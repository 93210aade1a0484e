import { goJson, isObject, ownMember, parseJson, setOwnMember } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations, groupOf } from '#model';
import type { KubeObject } from '#model';
import { normalizeSecret } from '../normalize/normalize.ts';
import { asJson, asKube } from '../shared/values.ts';

/** A pair of objects, each null when it does not exist. */
export interface ObjectPair {
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
}

const shortestMask = 8;
const maskLengthStep = 4;

/**
 * Masks Secrets for display: every value of `data` and of the given annotations becomes a run of
 * `+`, on both sides and in their last-applied annotations. Equal values of a key get equal masks,
 * different values masks of different lengths, so that a diff shows which keys changed and nothing
 * else. Returns both objects unchanged if neither is a core Secret.
 *
 * Argo CD: gitops-engine/pkg/diff HideSecretData. Difference: `data` that is not a map becomes one
 * mask instead of an error. Fails closed: a last-applied annotation that cannot be parsed, or that
 * is itself listed for masking, becomes one mask.
 */
export function maskSecrets(
  target: KubeObject | null,
  live: KubeObject | null,
  annotationKeys: readonly string[],
): ObjectPair {
  if (![target, live].some((object) => object !== null && isSecret(object))) return { target, live };
  const masks = new SecretMasks(annotationKeys);
  const [wanted, present] = [withFoldedData(target), withFoldedData(live)];
  const [wantedBefore, presentBefore] = [lastAppliedOf(wanted), lastAppliedOf(present)];
  for (const object of [wanted, present, wantedBefore, presentBefore]) if (object !== undefined) masks.learn(object);
  return {
    target: wanted === undefined ? null : asKube(masks.apply(wanted, wantedBefore)),
    live: present === undefined ? null : asKube(masks.apply(present, presentBefore)),
  };
}

function isSecret(object: KubeObject): boolean {
  return object.kind === 'Secret' && groupOf(object.apiVersion) === '';
}

function withFoldedData(object: KubeObject | null): JsonObject | undefined {
  return object === null ? undefined : normalizeSecret(asJson(object));
}

function annotationsOf(object: JsonObject): JsonObject | undefined {
  const metadata = ownMember(object, 'metadata');
  const found = isObject(metadata) ? ownMember(metadata, 'annotations') : undefined;
  return isObject(found) ? found : undefined;
}

function lastAppliedOf(object: JsonObject | undefined): JsonObject | undefined {
  const text = object === undefined ? undefined : ownMember(annotationsOf(object) ?? {}, annotations.lastApplied);
  if (typeof text !== 'string') return undefined;
  try {
    const parsed = parseJson(text);
    return isObject(parsed) ? normalizeSecret(parsed) : undefined;
  } catch {
    return undefined;
  }
}

class SecretMasks {
  readonly #annotationKeys: readonly string[];
  readonly #byKey = new Map<string, Map<string, string>>();

  constructor(annotationKeys: readonly string[]) {
    this.#annotationKeys = annotationKeys;
  }

  /** Order matters: the first value of a key gets the shortest mask. */
  learn(object: JsonObject): void {
    const data = ownMember(object, 'data');
    if (isObject(data)) for (const [key, value] of Object.entries(data)) this.#mask('data', key, value);
    const found = annotationsOf(object) ?? {};
    for (const key of this.#annotationKeys)
      if (ownMember(found, key) !== undefined) this.#mask('annotation', key, found[key]);
  }

  apply(object: JsonObject, before: JsonObject | undefined): JsonObject {
    const result = this.#masked(object);
    const found = annotationsOf(result);
    if (found === undefined || ownMember(found, annotations.lastApplied) === undefined) return result;
    const hidden = before === undefined || this.#annotationKeys.includes(annotations.lastApplied);
    const text = hidden ? '+'.repeat(shortestMask) : goJson(this.#masked(before));
    return {
      ...result,
      metadata: {
        ...(ownMember(result, 'metadata') as JsonObject),
        annotations: { ...found, [annotations.lastApplied]: text },
      },
    };
  }

  #masked(object: JsonObject): JsonObject {
    const result: MutableJsonObject = {};
    for (const key of Object.keys(object)) setOwnMember(result, key, object[key] as MutableJson);
    const data = ownMember(object, 'data');
    if (isObject(data)) result['data'] = this.#members('data', data, Object.keys(data));
    else if (data !== undefined && data !== null) result['data'] = '+'.repeat(shortestMask);
    const found = annotationsOf(object);
    const metadata = ownMember(object, 'metadata');
    if (found !== undefined && isObject(metadata))
      result['metadata'] = {
        ...(metadata as MutableJsonObject),
        annotations: this.#members('annotation', found, this.#annotationKeys),
      };
    return result;
  }

  #members(space: string, members: JsonObject, keys: readonly string[]): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const [key, value] of Object.entries(members))
      setOwnMember(result, key, keys.includes(key) ? this.#mask(space, key, value) : (value as MutableJson));
    return result;
  }

  #mask(space: string, key: string, value: Json | undefined): string {
    const name = `${space}/${key}`;
    const masks = this.#byKey.get(name) ?? new Map<string, string>();
    this.#byKey.set(name, masks);
    const id = typeof value === 'string' ? `s${value}` : goJson(value);
    const mask = masks.get(id) ?? '+'.repeat(shortestMask + maskLengthStep * masks.size);
    masks.set(id, mask);
    return mask;
  }
}
