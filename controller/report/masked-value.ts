import { isObject, outsideText, ownMember } from '#base';
import type { Json } from '#base';
import { annotations } from '#model';

/** Names of members whose values may be credentials. */
const credentialName =
  /passw|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|dsn|connection[-_]?string/i;
const mask = '++++++++';

export interface ShownValue {
  readonly text: string;
  readonly isMasked: boolean;
}

/** Longest text of a value. */
const maxShownLength = 256;

/**
 * The value at a path of an object as JSON text for display, cut. Values of members that are named
 * like a credential, of variables that are, and of annotations that repeat a manifest are masked;
 * credentials inside texts are removed. Objects that are Secrets must be masked before.
 */
export function shownValue(object: Json, path: readonly string[]): ShownValue | undefined {
  const found = valueOnPath(object, path);
  if (found === undefined) return undefined;
  const seen = { masked: found.isConfidential };
  const value = found.isConfidential ? mask : masked(found.value, seen);
  const text = outsideText('field', JSON.stringify(value));
  const shown = text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
  return { text: shown, isMasked: seen.masked || text.includes('***') };
}

/** Whether a member of an object holds a credential, by its name and that of its variable. */
function isConfidential(parent: Json, step: string): boolean {
  if (step === annotations.lastApplied || credentialName.test(step)) return true;
  if (step !== 'value' || !isObject(parent)) return false;
  const name = ownMember(parent, 'name') ?? ownMember(parent, 'key');
  return typeof name === 'string' && credentialName.test(name);
}

function valueOnPath(
  object: Json,
  path: readonly string[],
): { readonly value: Json; readonly isConfidential: boolean } | undefined {
  let value: Json | undefined = object;
  let confidential = false;
  for (const step of path) {
    const parent: Json = value;
    value = Array.isArray(parent)
      ? (parent as readonly Json[])[Number(step)]
      : isObject(parent)
        ? ownMember(parent, step)
        : undefined;
    if (value === undefined) return undefined;
    // A name of a Secret is none: secretKeyRef and secretName hold names.
    if (isScalarName(step)) continue;
    confidential ||= isConfidential(parent, step);
  }
  return { value, isConfidential: confidential && !isObject(value) && !Array.isArray(value) };
}

/** Members with "secret" or "token" in their name whose value is a reference or a switch. */
function isScalarName(step: string): boolean {
  return /^(?:secretName|secretRef|secretKeyRef|imagePullSecrets|secrets|automountServiceAccountToken|tokenRequests)$/.test(
    step,
  );
}

function masked(value: Json, seen: { masked: boolean }): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => masked(item, seen));
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, member]): [string, Json] => {
    const inner = member ?? null;
    const isHidden = !isScalarName(name) && isConfidential(value, name) && typeof inner === 'string';
    if (isHidden) seen.masked = true;
    return [name, isHidden ? mask : masked(inner, seen)];
  });
  return Object.fromEntries(members);
}
