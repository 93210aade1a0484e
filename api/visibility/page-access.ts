import { mapLimit } from '#base';
import type { ResourceRef } from '#model';
import type { HubKinds } from '../access/hub-kinds.ts';
import { alternativesOf, kindRight, rightsText, rightText } from '../access/rights.ts';
import type { ResourceRight, RightName, RightScope } from '../access/rights.ts';
import type { Viewer } from '../access/viewer.ts';
import { HiddenParts } from './hidden-parts.ts';

export interface PageAccessDeps {
  readonly viewer: Viewer;
  readonly scope: RightScope;
  /** Absent: no kind is known, so only a viewer of everything sees objects. */
  readonly kinds?: HubKinds | undefined;
  readonly signal: AbortSignal;
}

/** Kinds and namespaces that are checked for one page; objects of others are left out. */
const maxCheckedKinds = 100;
const concurrentChecks = 8;

/** Finds the right that is missing for an object; undefined: the viewer may see it. */
export type MissingRight = (ref: ResourceRef) => string | undefined;

/** The rights of one viewer on one page, and what the page does not show. */
export class PageAccess {
  readonly #deps: PageAccessDeps;
  readonly hidden = new HiddenParts();

  constructor(deps: PageAccessDeps) {
    this.#deps = deps;
  }

  /** The missing right in words; undefined: the viewer has it. */
  async missing(right: RightName): Promise<string | undefined> {
    const { viewer, scope, signal } = this.#deps;
    if (viewer.isFull === true) return undefined;
    const rights = alternativesOf(right, scope);
    for (const one of rights) if (await viewer.may(one, signal)) return undefined;
    return rightsText(rights);
  }

  /**
   * Checks live objects by kind and namespace. The API server knows only its own cluster; objects
   * of others need the right to `objects`.
   */
  async objects(refs: readonly ResourceRef[]): Promise<MissingRight> {
    const { viewer, scope } = this.#deps;
    if (viewer.isFull === true || refs.length === 0) return () => undefined;
    if (!scope.isHub) {
      const missing = await this.missing('objects');
      return () => missing;
    }
    const wanted = new Map(refs.map((ref) => [keyOf(ref), ref] as const));
    const checked = [...wanted].slice(0, maxCheckedKinds);
    const missing = new Map(
      await mapLimit(checked, concurrentChecks, async ([key, ref]) => [key, await this.#missingKind(ref)] as const),
    );
    return (ref) => (missing.has(keyOf(ref)) ? missing.get(keyOf(ref)) : tooManyKinds);
  }

  async #missingKind(ref: ResourceRef): Promise<string | undefined> {
    const { viewer, kinds, signal } = this.#deps;
    const resource = await kinds?.(ref, signal);
    const right: ResourceRight = resource === undefined ? everything : kindRight(ref, resource, ref.namespace);
    return (await viewer.may(right, signal)) ? undefined : rightText(right);
  }
}

const everything: ResourceRight = { verb: 'get', group: '*', resource: '*', namespace: '' };
const tooManyKinds = `rights to more than ${maxCheckedKinds} kinds and namespaces, which no page checks`;

function keyOf({ group, kind, namespace }: ResourceRef): string {
  return `${group}/${kind}/${namespace}`;
}
