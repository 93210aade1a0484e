import { goJson, isObject, own, parseJson, setOwn } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations, groupOf } from '#model';
import type { KubeObject } from '#model';
import { asJson, asKube } from './client-side-apply.ts';
import { normalizeSecret } from './normalize.ts';

/** Two objects, each null when it does not exist. */
export interface ObjectPair {
  readonly target: KubeObject | null;
  readonly live: KubeObject | null;
}

const shortest = 8;
const longer = 4;

/**
 * Secrets for eyes: every value of `data`, and of the named annotations, is a run of `+`, in both objects and in their last-applied
 * annotations. Equal values of one key have equal runs, different ones different lengths, so that a diff still shows what changed and
 * nothing else. Objects that are no core Secret come back as they are. The arguments are not changed.
 *
 * Argo CD: gitops-engine/pkg/diff HideSecretData. Difference: `data` that is no map is replaced by one mask instead of failing. Fails closed:
 * a last-applied annotation that cannot be read, or that is itself named, becomes one mask.
 */
export function maskSecrets(
  target: KubeObject | null,
  live: KubeObject | null,
  annotationKeys: readonly string[],
): ObjectPair {
  if (![target, live].some((object) => object !== null && isSecret(object))) return { target, live };
  const masks = new Masks(annotationKeys);
  const [wanted, present] = [prepared(target), prepared(live)];
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

function prepared(object: KubeObject | null): JsonObject | undefined {
  return object === null ? undefined : normalizeSecret(asJson(object));
}

function annotationsOf(object: JsonObject): JsonObject | undefined {
  const metadata = own(object, 'metadata');
  const found = isObject(metadata) ? own(metadata, 'annotations') : undefined;
  return isObject(found) ? found : undefined;
}

function lastAppliedOf(object: JsonObject | undefined): JsonObject | undefined {
  const text = object === undefined ? undefined : own(annotationsOf(object) ?? {}, annotations.lastApplied);
  if (typeof text !== 'string') return undefined;
  try {
    const parsed = parseJson(text);
    return isObject(parsed) ? normalizeSecret(parsed) : undefined;
  } catch {
    return undefined;
  }
}

class Masks {
  readonly #annotationKeys: readonly string[];
  readonly #byKey = new Map<string, Map<string, string>>();

  constructor(annotationKeys: readonly string[]) {
    this.#annotationKeys = annotationKeys;
  }

  /** Order matters: the first value that is seen of a key has the shortest mask. */
  learn(object: JsonObject): void {
    const data = own(object, 'data');
    if (isObject(data)) for (const [key, value] of Object.entries(data)) this.#mask('data', key, value);
    const found = annotationsOf(object) ?? {};
    for (const key of this.#annotationKeys)
      if (own(found, key) !== undefined) this.#mask('annotation', key, found[key]);
  }

  apply(object: JsonObject, before: JsonObject | undefined): JsonObject {
    const result = this.#masked(object);
    const found = annotationsOf(result);
    if (found === undefined || own(found, annotations.lastApplied) === undefined) return result;
    const hidden = before === undefined || this.#annotationKeys.includes(annotations.lastApplied);
    const text = hidden ? '+'.repeat(shortest) : goJson(this.#masked(before));
    return {
      ...result,
      metadata: {
        ...(own(result, 'metadata') as JsonObject),
        annotations: { ...found, [annotations.lastApplied]: text },
      },
    };
  }

  #masked(object: JsonObject): JsonObject {
    const result: MutableJsonObject = {};
    for (const key of Object.keys(object)) setOwn(result, key, object[key] as MutableJson);
    const data = own(object, 'data');
    if (isObject(data)) result['data'] = this.#members('data', data, Object.keys(data));
    else if (data !== undefined && data !== null) result['data'] = '+'.repeat(shortest);
    const found = annotationsOf(object);
    const metadata = own(object, 'metadata');
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
      setOwn(result, key, keys.includes(key) ? this.#mask(space, key, value) : (value as MutableJson));
    return result;
  }

  #mask(space: string, key: string, value: Json | undefined): string {
    const name = `${space}/${key}`;
    const masks = this.#byKey.get(name) ?? new Map<string, string>();
    this.#byKey.set(name, masks);
    const id = typeof value === 'string' ? `s${value}` : goJson(value);
    const mask = masks.get(id) ?? '+'.repeat(shortest + longer * masks.size);
    masks.set(id, mask);
    return mask;
  }
}
