import { stringifyJson } from '#base';
import type { Json } from '#base';
import { apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import { asJsonObject, asKubeObject } from '../fields.ts';
import { inVersion } from '../discovery/registry.ts';
import type { ServedKind } from '../discovery/registry.ts';
import { badRequestError } from '../status.ts';
import { cachedItemJsonOf, cachedJsonOf } from '../storage/storage.ts';
import { tableColumns, tableRow } from '../tables/tables.ts';

/** The requested form of objects: complete, only metadata, or a table. */
export interface RepresentationForm {
  readonly as: 'object' | 'meta' | 'table';
  /** The version of Table and PartialObjectMetadata. */
  readonly version: 'v1' | 'v1beta1';
  /** The part of the object that each Table row carries. */
  readonly include: 'None' | 'Metadata' | 'Object';
}

/** The first supported alternative of an Accept header; undefined if there is none. */
export function representationFormOf(
  accept: string | undefined,
  includeObject: string | null,
): RepresentationForm | undefined {
  const include = includeObject === 'None' || includeObject === 'Object' ? includeObject : 'Metadata';
  const strange = includeObject !== null && !['', 'Metadata', include].includes(includeObject);
  for (const alternative of (accept ?? '*/*').split(',')) {
    const [type = '', ...rest] = alternative.split(';').map((part) => part.trim());
    const options = new Map(rest.map((part) => part.split('=') as [string, string]));
    if (!['application/json', '*/*', 'application/*', ''].includes(type)) continue;
    const as = options.get('as');
    const version = options.get('v') === 'v1beta1' ? 'v1beta1' : 'v1';
    if (as === undefined) return { as: 'object', version, include };
    if (options.get('g') !== 'meta.k8s.io') continue;
    if (as === 'Table' && strange)
      throw badRequestError(
        `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`,
      );
    if (as === 'Table') return { as: 'table', version, include };
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return { as: 'meta', version, include };
  }
  return undefined;
}

/** `metadata` of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Serializes objects, lists and watch events of one kind in one form. */
export class ResponseWriter {
  readonly #kind: ServedKind;
  readonly #shape: RepresentationForm;
  readonly #now: () => number;
  readonly #apiVersion: string;
  #headed = false;

  constructor(kind: ServedKind, shape: RepresentationForm, now: () => number) {
    this.#kind = kind;
    this.#shape = shape;
    this.#now = now;
    this.#apiVersion = apiVersionOf(kind.group, kind.version);
  }

  one(object: KubeObject): string {
    switch (this.#shape.as) {
      case 'object':
        return cachedJsonOf(inVersion(object, this.#apiVersion));
      case 'meta':
        return stringifyJson(this.#partial(object));
      case 'table':
        return this.#table([object], { resourceVersion: object.metadata.resourceVersion ?? '' }, true);
    }
  }

  list(objects: readonly KubeObject[], meta: ListMeta): string {
    switch (this.#shape.as) {
      case 'object': {
        const text = this.#kind.custom ? cachedJsonOf : cachedItemJsonOf;
        const items = objects.map((object) => text(inVersion(object, this.#apiVersion))).join(',');
        return `{"kind":"${this.#kind.listKind}","apiVersion":"${this.#apiVersion}","metadata":${JSON.stringify(this.#kind.custom ? { continue: '', ...meta } : meta)},"items":[${items}]}`;
      }
      case 'meta': {
        const items = objects.map((object) => this.#partial(object));
        const head = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${this.#shape.version}` };
        return stringifyJson({ ...head, metadata: { ...meta }, items });
      }
      case 'table':
        return this.#table(objects, meta, true);
    }
  }

  /** The object part of a watch event. Only the first table of a watch has column definitions. */
  event(object: KubeObject): string {
    if (this.#shape.as !== 'table') return this.one(object);
    const first = !this.#headed;
    this.#headed = true;
    return this.#table([object], { resourceVersion: object.metadata.resourceVersion ?? '' }, first);
  }

  /** An object that carries only a revision. */
  bookmark(revision: number, initialEventsEnd: boolean): string {
    const annotations = initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
    const metadata = { resourceVersion: String(revision), ...annotations };
    const object = { kind: this.#kind.kind, apiVersion: this.#apiVersion, metadata };
    if (this.#shape.as === 'object') return JSON.stringify(object);
    if (this.#shape.as === 'meta') return stringifyJson(this.#partial(asKubeObject(object)));
    return JSON.stringify({
      ...this.#tableHead({ resourceVersion: String(revision) }),
      columnDefinitions: [],
      rows: [],
    });
  }

  #partial(object: KubeObject): Json {
    return {
      kind: 'PartialObjectMetadata',
      apiVersion: `meta.k8s.io/${this.#shape.version}`,
      metadata: asJsonObject(object.metadata),
    };
  }

  #tableHead(meta: ListMeta): { kind: string; apiVersion: string; metadata: ListMeta } {
    return { kind: 'Table', apiVersion: `meta.k8s.io/${this.#shape.version}`, metadata: meta };
  }

  #table(objects: readonly KubeObject[], meta: ListMeta, headed: boolean): string {
    const rows = objects.map((object) => {
      const { cells, conditions } = tableRow(this.#kind, object, this.#now());
      const included = this.#included(object);
      return {
        cells,
        ...(conditions === undefined ? {} : { conditions }),
        object: included,
      };
    });
    const head = this.#tableHead(meta);
    return stringifyJson({
      kind: head.kind,
      apiVersion: head.apiVersion,
      metadata: { ...meta },
      columnDefinitions: headed ? tableColumns(this.#kind) : [],
      rows,
    });
  }

  #included(object: KubeObject): Json {
    if (this.#shape.include === 'None') return null;
    return this.#shape.include === 'Object' ? asJsonObject(inVersion(object, this.#apiVersion)) : this.#partial(object);
  }
}
