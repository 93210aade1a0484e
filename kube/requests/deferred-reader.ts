import { DeferredJson, isObject, parseJson, TextBytes } from '#base';
import type { ByteRange, Json, JsonObject } from '#base';
import { deferredObject, deferredPartsOf } from '#model';
import type { DeferredParts, KubeObject } from '#model';
import type { DeferredBase, DefersMembers, NamedObject } from '../types.ts';
import { JsonScanner, MemberNames } from './json-scanner.ts';

/** Where an object is in bytes, and what lists omit of it. */
export interface DeferredSource {
  readonly bytes: Uint8Array;
  readonly from: number;
  /** The end of the object. */
  readonly to: number;
  readonly defers: DefersMembers;
  /** For items of lists without apiVersion and kind. */
  readonly typeMeta?: Pick<KubeObject, 'apiVersion' | 'kind'>;
}

type TopMember = 'apiVersion' | 'kind' | 'metadata' | 'operation' | 'spec' | 'status';
type MetaMember = 'managedFields' | 'name' | 'namespace';
const topMembers = new MemberNames<TopMember>(['apiVersion', 'kind', 'metadata', 'operation', 'spec', 'status']);
const metaMembers = new MemberNames<MetaMember>(['managedFields', 'name', 'namespace']);

/**
 * Reads an object without its status and managedFields, which are kept as text. Undefined: parse it
 * as a whole, because `defers` does not choose it, or because it is not the plain JSON of an object
 * with apiVersion, kind, metadata, operation, spec and status.
 */
export function readDeferred(source: DeferredSource): KubeObject | undefined {
  const found = new ObjectMembers(source).scan();
  return found === undefined ? undefined : found.object();
}

class ObjectMembers {
  readonly #source: DeferredSource;
  readonly #scanner: JsonScanner;
  readonly #ranges = new Map<TopMember, ByteRange>();
  readonly #name = new Map<MetaMember, string>();
  #managedFields: ByteRange | undefined;
  #apiVersion: string | undefined;
  #kind: string | undefined;
  #base: DeferredBase | undefined;

  constructor(source: DeferredSource) {
    this.#source = source;
    this.#scanner = new JsonScanner(source.bytes, source.from);
    this.#apiVersion = source.typeMeta?.apiVersion;
    this.#kind = source.typeMeta?.kind;
  }

  scan(): this | undefined {
    const scanner = this.#scanner;
    const isWhole = scanner.isObject() && scanner.members(topMembers, (name) => this.#member(name));
    const isComplete =
      isWhole && scanner.at === this.#source.to && this.#base !== undefined && this.#ranges.has('spec');
    return isComplete && this.#hasTypeMeta() ? this : undefined;
  }

  #hasTypeMeta(): boolean {
    if (this.#ranges.has('apiVersion') !== this.#ranges.has('kind')) return false;
    return this.#apiVersion !== undefined && this.#kind !== undefined;
  }

  #member(name: TopMember | undefined): boolean {
    const scanner = this.#scanner;
    if (name === undefined || this.#ranges.has(name)) return false;
    const from = scanner.at;
    if (name === 'apiVersion' || name === 'kind') {
      const text = scanner.text();
      if (name === 'kind') this.#kind = text;
      else this.#apiVersion = text;
      if (text === undefined) return false;
    } else if (!scanner.isObject() || !(name === 'metadata' ? this.#metadata() : scanner.value())) return false;
    this.#ranges.set(name, this.#rangeFrom(from));
    return true;
  }

  /** Decides as early as possible: the owner of an object parses it. */
  #metadata(): boolean {
    const scanner = this.#scanner;
    if (!scanner.members(metaMembers, (name) => this.#metaMember(name))) return false;
    const object: NamedObject = {
      namespace: this.#name.get('namespace') ?? '',
      name: this.#name.get('name') ?? '',
    };
    this.#base = this.#source.defers(object);
    return this.#base !== undefined;
  }

  #metaMember(name: MetaMember | undefined): boolean {
    const scanner = this.#scanner;
    if (name === 'name' || name === 'namespace') {
      const text = this.#name.has(name) ? undefined : scanner.text();
      if (text !== undefined) this.#name.set(name, text);
      return text !== undefined;
    }
    if (name !== 'managedFields') return scanner.value();
    if (this.#managedFields !== undefined || !scanner.isArray()) return false;
    const from = scanner.at;
    if (!scanner.value()) return false;
    this.#managedFields = this.#rangeFrom(from);
    return true;
  }

  object(): KubeObject | undefined {
    const { bytes, from, to } = this.#source;
    const text = new TextBytes(bytes.subarray(from, to), this.#scanner.isAscii);
    const metadata = parseJson(this.#metadataText(text));
    if (!isObject(metadata)) return undefined;
    const fields = this.#managedFields;
    const operation = this.#ranges.get('operation');
    const status = this.#ranges.get('status');
    const { spec, specText } = this.#spec(text);
    const head = {
      apiVersion: this.#apiVersion ?? '',
      kind: this.#kind ?? '',
      metadata,
      ...(operation && { operation: parseJson(text.textIn(operation)) }),
      spec,
    };
    return deferredObject(head, {
      status: status && new DeferredJson<JsonObject>(text, status),
      managedFields: fields && new DeferredJson<readonly JsonObject[]>(text, fields),
      specText,
    });
  }

  /** Without the managed fields. */
  #metadataText(text: TextBytes): string {
    const { from, to } = this.#ranges.get('metadata') ?? nowhere;
    const fields = this.#managedFields;
    if (fields === undefined) return text.textIn({ from, to });
    const before = text.textIn({ from, to: fields.from }).replace(/"managedFields"\s*:\s*$/, '');
    const after = text.textIn({ from: fields.to, to });
    const next = after.replace(/^\s*,/, '');
    return next === after ? before.replace(/,\s*$/, '') + after : before + next;
  }

  /** An unchanged spec is that of the last known object, so that readers see that it is. */
  #spec(text: TextBytes): Pick<DeferredParts, 'specText'> & { readonly spec: Json | undefined } {
    const range = this.#ranges.get('spec') ?? nowhere;
    const specText = new DeferredJson<JsonObject>(text, range);
    const known = this.#base?.known;
    const isKnown = known !== undefined && deferredPartsOf(known)?.specText.hasTextOf(specText) === true;
    return { spec: isKnown ? (known['spec'] as Json) : parseJson(text.textIn(range)), specText };
  }

  /** The range of a value in the object. */
  #rangeFrom(from: number): ByteRange {
    const start = this.#source.from;
    return { from: from - start, to: this.#scanner.at - start };
  }
}

const nowhere: ByteRange = { from: 0, to: 0 };
