import { isObject } from '#base';
import type { Json } from '#base';
import { pathsIn, replaceAt, valueAtPath } from './mutate.ts';
import type { JsonPath } from './mutate.ts';

/**
 * Removes all of a case that its difference does not need: largest parts first, then simpler
 * values. `differs` reports whether a smaller case still shows the same difference.
 */
export async function shrinkCase(
  input: Json,
  differs: (smaller: Json) => Promise<boolean>,
  maxTries = 400,
): Promise<Json> {
  let best = input;
  let tries = 0;
  const accept = async (smaller: Json): Promise<boolean> => {
    if (tries >= maxTries) return false;
    tries += 1;
    if (!(await differs(smaller))) return false;
    best = smaller;
    return true;
  };
  for (let isSmaller = true; isSmaller && tries < maxTries;) {
    isSmaller = false;
    // A parent comes before its members: with it they are gone too.
    for (const path of pathsIn(best).reverse().sort(byDepth)) {
      const here = valueAtPath(best, path);
      if (here === undefined) continue;
      if (await accept(replaceAt(best, path, undefined))) isSmaller = true;
      else if (isLong(here) && (await accept(replaceAt(best, path, simpler(here))))) isSmaller = true;
    }
  }
  return best;
}

function byDepth(a: JsonPath, b: JsonPath): number {
  return a.length - b.length;
}

function isLong(value: Json): boolean {
  return (typeof value === 'string' && value.length > 8) || (isObject(value) && Object.keys(value).length > 0);
}

function simpler(value: Json): Json {
  return typeof value === 'string' ? value.slice(0, Math.floor(value.length / 2)) : {};
}
