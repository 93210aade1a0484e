import { createHash } from 'node:crypto';
import { isObject, JsonSyntaxError, parseJson, yieldToLoop } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { ManifestError } from '../errors.ts';
import { Lru } from '../fetch/shared/lru.ts';
import { objectsIn } from '../generate/documents.ts';

/**
 * Parses the manifests of answers. Equal texts return the same object instances while cached, so a
 * comparison can skip unchanged objects by identity.
 */
export class ParsedAnswers {
  readonly #known: Lru<readonly KubeObject[]>;

  /** @param capacity cached text, in characters */
  constructor(capacity: number) {
    this.#known = new Lru(capacity);
  }

  /** @throws ManifestError */
  async objectsOf(manifests: readonly string[], owner: string): Promise<readonly KubeObject[]> {
    const hash = createHash('sha256');
    let length = 0;
    for (const text of manifests) {
      hash.update(`${text.length}:`).update(text);
      length += text.length;
    }
    const key = hash.digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const objects = await parsedAll(manifests);
    this.#known.set(key, objects, length, owner);
    return objects;
  }
}

/** Text parsed before yielding to the event loop. */
const sliceBytes = 1 << 20;

async function parsedAll(manifests: readonly string[]): Promise<readonly KubeObject[]> {
  const objects: KubeObject[] = [];
  let sinceYield = 0;
  for (const [index, text] of manifests.entries()) {
    const value = parsed(text, index);
    if (value !== null) for (const object of objectsIn(value, `manifest ${index + 1}`)) objects.push(object);
    sinceYield += text.length;
    if (sinceYield < sliceBytes) continue;
    sinceYield = 0;
    await yieldToLoop();
  }
  return objects;
}

function parsed(text: string, index: number): Json {
  if (text === '') return null;
  try {
    const value = parseJson(text);
    return isObject(value) && Object.keys(value).length === 0 ? null : value;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ManifestError(`manifest ${index + 1} of the repo-server is not valid JSON`);
  }
}
