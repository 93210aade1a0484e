import { createHmac } from 'node:crypto';
import { goJson, isObject, outsideText, ownMember, parseJson, setOwnMember, splitUserInfo } from '#base';
import type { Json, JsonObject, MutableJson, MutableJsonObject } from '#base';
import { annotations } from '#model';
import type { KubeObject } from '#model';
import { hasCredentialLine, isHiddenBelow } from '../report/masked-value.ts';

/** Members of a status that repeat a part of the spec; all others are texts of this controller. */
const specMembers = new Set(['source', 'sources', 'operation', 'comparedTo', 'sourceHydrator', 'drySource']);
/** Volumes and projections that name a Secret or a token, but hold none. */
const referenceMembers: Readonly<Record<string, ReadonlySet<string>>> = {
  secret: new Set(['secretName', 'name', 'defaultMode', 'items', 'optional']),
  serviceAccountToken: new Set(['audience', 'expirationSeconds', 'path']),
};

/**
 * Masks values for a recording. A mask is a digest under a key that is not recorded, so equal
 * values have equal masks, and different values different ones: masked objects compare like the
 * real ones. Bytes stay base64, numbers stay numbers, and empty values stay empty.
 */
export class RecordingMask {
  readonly #key: string;
  readonly #annotationKeys: ReadonlySet<string>;

  /** @param annotationKeys annotations whose values are confidential, by the settings. */
  constructor(key: string, annotationKeys: readonly string[] = []) {
    this.#key = key;
    this.#annotationKeys = new Set(annotationKeys);
  }

  /** A live or rendered object. */
  object(object: KubeObject): KubeObject {
    return this.#kube(object as JsonObject) as KubeObject;
  }

  /** An Application; texts of its status were sanitized when they were written. */
  application(app: JsonObject): JsonObject {
    return mapMembers(app, (name, value) => {
      if (name === 'status') return this.status(value);
      return name === 'operation' ? this.operation(value) : this.#value(value, false);
    });
  }

  /** A status, or a patch of one. */
  status(value: Json): Json {
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => this.status(item));
    if (!isObject(value)) return this.plain(value);
    return mapMembers(value, (name, member) => (specMembers.has(name) ? this.operation(member) : this.status(member)));
  }

  /** An operation or a source: local manifests are objects in JSON. */
  operation(value: Json): Json {
    const masked = this.#value(value, false);
    const sync = isObject(value) ? ownMember(value, 'sync') : undefined;
    const manifests = isObject(sync) ? ownMember(sync, 'manifests') : undefined;
    if (!Array.isArray(manifests) || !isObject(masked)) return masked;
    const texts = (manifests as readonly Json[]).map((text) =>
      typeof text === 'string' ? this.#manifest(text) : text,
    );
    return { ...masked, sync: { ...(masked['sync'] as JsonObject), manifests: texts } };
  }

  /** Texts and settings that hold no confidential member: only recognizable credentials go. */
  plain(value: Json): Json {
    if (typeof value === 'string') return outsideText('field', value);
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => this.plain(item));
    return isObject(value) ? mapMembers(value, (_name, member) => this.plain(member)) : value;
  }

  #kube(object: JsonObject): JsonObject {
    const isSecret = object['kind'] === 'Secret' && object['apiVersion'] === 'v1';
    return mapMembers(object, (name, value) => {
      if (isSecret && (name === 'data' || name === 'stringData')) return this.#secretData(value, name === 'data');
      return name === 'metadata' && isObject(value) ? this.#metadata(value) : this.#value(value, false);
    });
  }

  #metadata(metadata: JsonObject): JsonObject {
    return mapMembers(metadata, (name, value) => {
      if (name !== 'annotations' || !isObject(value))
        return name === 'managedFields' ? value : this.#value(value, false);
      return mapMembers(value, (key, text) => {
        // Names and options: a tracking id of a Secret looks like a line of a configuration file.
        if (key.startsWith('argocd.argoproj.io/')) return this.plain(text);
        if (key === annotations.lastApplied && typeof text === 'string') return this.#manifest(text);
        return this.#annotationKeys.has(key) ? this.#hidden(text) : this.#member(value, key, text, false);
      });
    });
  }

  /** The text of an object, masked inside, so that a three-way merge still works. */
  #manifest(text: string): string {
    try {
      const parsed = parseJson(text);
      return isObject(parsed) ? goJson(this.#kube(parsed)) : this.#text(text);
    } catch {
      return this.#text(text);
    }
  }

  #secretData(data: Json, isBase64: boolean): Json {
    if (!isObject(data)) return data === null ? null : this.#hidden(data);
    return mapMembers(data, (_key, value) => {
      if (typeof value !== 'string' || value === '') return this.#hidden(value);
      if (!isBase64) return this.#bytes(Buffer.from(value));
      return isBase64Text(value)
        ? Buffer.from(this.#bytes(Buffer.from(value, 'base64'))).toString('base64')
        : `!${this.#text(value)}`;
    });
  }

  #value(value: Json, isHidden: boolean): Json {
    if (isHidden && !isObject(value) && !Array.isArray(value)) return this.#hidden(value);
    if (Array.isArray(value))
      return (value as readonly Json[]).map((item, i) => this.#member(value, String(i), item, isHidden));
    if (isObject(value)) return mapMembers(value, (name, member) => this.#member(value, name, member, isHidden));
    return typeof value === 'string' ? this.#visible(value) : value;
  }

  #member(parent: Json, name: string, value: Json, isHidden: boolean): Json {
    if (isReference(name, value)) return this.#value(value, isHidden);
    return this.#value(value, isHiddenBelow(parent, name, isHidden));
  }

  /** A value that may be a credential. */
  #hidden(value: Json): Json {
    if (typeof value === 'string') return value === '' ? '' : this.#text(value);
    if (typeof value === 'number' || typeof value === 'bigint')
      return value == 0 ? value : Number.parseInt(this.#digest(String(value)).slice(0, 8), 16);
    return isObject(value) || Array.isArray(value) ? this.#value(value, true) : value;
  }

  /** A text whose member is not confidential, but which may hold a credential itself. */
  #visible(text: string): string {
    const { url } = splitUserInfo(text);
    if (hasCredentialLine(url)) return this.#text(text);
    return holdsCredential(url) ? this.#text(text) : url;
  }

  #text(text: string): string {
    return `masked-${this.#digest(text)}`;
  }

  #bytes(bytes: Buffer): string {
    return bytes.length === 0 ? '' : `masked-${this.#digest(bytes)}`;
  }

  #digest(value: string | Buffer): string {
    return createHmac('sha256', this.#key).update(value).digest('hex').slice(0, 16);
  }
}

function isReference(name: string, value: Json): boolean {
  const known = Object.hasOwn(referenceMembers, name) ? referenceMembers[name] : undefined;
  return known !== undefined && isObject(value) && Object.keys(value).every((member) => known.has(member));
}

/** Longer texts are read in windows, because a sanitized text is cut. */
const windowLength = 60_000;
const windowOverlap = 10_000;

/** Whether sanitizing would remove a credential. */
function holdsCredential(text: string): boolean {
  if (text.includes('***')) return false;
  for (let from = 0; from < text.length; from += windowLength - windowOverlap)
    if (outsideText('field', text.slice(from, from + windowLength)).includes('***')) return true;
  return false;
}

/** As the comparison recognizes it: other texts are compared as they are. */
function isBase64Text(text: string): boolean {
  const line = text.replace(/[\r\n]/g, '');
  return line.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(line);
}

function mapMembers(object: JsonObject, map: (name: string, value: Json) => Json): JsonObject {
  const result: MutableJsonObject = {};
  for (const [name, value] of Object.entries(object))
    if (value !== undefined) setOwnMember(result, name, map(name, value) as MutableJson);
  return result;
}
