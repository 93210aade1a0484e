import type { KubeObject } from '#model';
import { recordAnnotations } from './identity.ts';
import { membersOf } from './kept-revision.ts';
import { specOf } from './lease-holder.ts';

const version = 1;
/** An API server refuses annotations of more than 256 KiB. */
const maxLength = 100_000;

/**
 * The annotation with the kinds that may have objects of the agent, in a record that is written at
 * `renewTime`. None if there are too many: the next process then watches all kinds.
 * @param reach what the kinds belong to (`reachIdOf`)
 */
export function kindsAs(kinds: readonly string[], reach: string, renewTime: string): Record<string, string> {
  const text = JSON.stringify({ version, reach, renewTime, kinds });
  return text.length > maxLength ? {} : { [recordAnnotations.kinds]: text };
}

/**
 * The kinds in a record. Undefined if kinds may be missing: it has none, was edited, belongs to
 * another reach, or was renewed by an agent that does not know of them.
 */
export function readKinds(lease: KubeObject, reach: string): readonly string[] | undefined {
  const found = membersOf(lease.metadata.annotations?.[recordAnnotations.kinds] ?? '');
  const { kinds } = found;
  const isCurrent =
    found['version'] === version && found['reach'] === reach && found['renewTime'] === specOf(lease)['renewTime'];
  return isCurrent && isListOfKinds(kinds) ? kinds : undefined;
}

function isListOfKinds(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((kind) => typeof kind === 'string' && kind.includes('/'));
}
