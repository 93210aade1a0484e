import { formatYaml, isObject, omit, outsideText, ownMember, stringifyJson } from '#base';
import type { Json } from '#base';
import { annotations, jsonOf } from '#model';
import type { KubeObject } from '#model';

/** Names of members whose values may be credentials. */
const credentialName =
  /passw|passphrase|pwd|(?:^|[^a-z])pass(?:$|[^a-z])|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|dsn|connection[-_]?string|stringdata|dockercfg|dockerconfig|kubeconfig/i;
/** A line such as `db.password: x` or `"token": "x"` in a text: a configuration file. */
const credentialLine =
  /(?:passw|passphrase|pwd|\bpass|_pass|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|authorization|dsn|connection[-_]?string|"auth)[\w.-]{0,64}["']?[ \t]{0,16}[:=]/i;
const mask = '++++++++';

export interface ShownValue {
  readonly text: string;
  readonly isMasked: boolean;
}

/** Longest text of a value. */
const maxShownLength = 256;

/**
 * The value at a path of an object as JSON text for display, cut. Everything below members that are
 * named like a credential, values of variables and arguments that are, texts with a line that is,
 * and annotations that repeat a manifest are masked; credentials inside texts are removed. Objects
 * that are Secrets must be masked before.
 */
export function shownValue(object: Json, path: readonly string[]): ShownValue | undefined {
  const found = valueOnPath(object, path);
  if (found === undefined) return undefined;
  const seen = { masked: false };
  const text = outsideText('field', stringifyJson(masked(found.value, found.isConfidential, seen)));
  const shown = text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;
  return { text: shown, isMasked: seen.masked || text.includes('***') };
}

const maxManifestLength = 8192;

/** A whole object as YAML, masked like {@link shownValue} and cut at the end of a line. */
export function shownManifest(object: KubeObject): string {
  const shown = masked(jsonOf({ ...object, metadata: omit(object.metadata, 'managedFields') }), false, {
    masked: false,
  });
  const text = outsideText('field', formatYaml(shown));
  if (text.length <= maxManifestLength) return text;
  return `${text.slice(0, text.lastIndexOf('\n', maxManifestLength) + 1)}…\n`;
}

/** Whether a value is a credential, by its name, its variable or the option before it. */
function isConfidential(parent: Json, step: string): boolean {
  if (Array.isArray(parent)) {
    const option = (parent as readonly Json[])[Number(step) - 1];
    return typeof option === 'string' && /^--?[^=\s]+$/.test(option) && credentialName.test(option);
  }
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
    confidential = isHiddenBelow(parent, step, confidential);
  }
  return { value, isConfidential: confidential };
}

/** The name of a Secret is none: secretKeyRef and secretName hold names. */
export function isHiddenBelow(parent: Json, step: string, isHidden: boolean): boolean {
  return !isScalarName(step) && (isHidden || isConfidential(parent, step));
}

/** Whether a text has a line such as `db.password: x`. */
export function hasCredentialLine(text: string): boolean {
  return credentialLine.test(text);
}

/** Members with "secret" or "token" in their name whose value is a reference or a switch. */
function isScalarName(step: string): boolean {
  return /^(?:secretName|secretRef|secretKeyRef|imagePullSecrets|secrets|automountServiceAccountToken|tokenRequests)$/.test(
    step,
  );
}

function masked(value: Json, isHidden: boolean, seen: { masked: boolean }): Json {
  if (Array.isArray(value))
    return (value as readonly Json[]).map((item, i) =>
      masked(item, isHidden || isConfidential(value, String(i)), seen),
    );
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, member]): [string, Json] => [
      name,
      masked(member ?? null, isHiddenBelow(value, name, isHidden), seen),
    ]);
    return Object.fromEntries(members);
  }
  const hides = isHidden
    ? typeof value === 'string' || typeof value === 'number'
    : typeof value === 'string' && hasCredentialLine(value);
  if (hides) seen.masked = true;
  return hides ? mask : value;
}
