import type { SourceManifests } from '#desired';
import { isHook } from '#model';
import type { ApplicationCondition } from '#model';

const maxUnnamed = 10;
const maxIgnored = 10;

/** Conditions about the files of a source. */
export function sourceConditions({
  unnamed = [],
  ignored = [],
}: Pick<SourceManifests, 'unnamed' | 'ignored'>): readonly ApplicationCondition[] {
  const others = ignored.length > maxIgnored ? ` (and ${ignored.length - maxIgnored} more files)` : '';
  const shown = ignored.slice(0, maxIgnored);
  return [
    ...unnamedConditions(unnamed),
    ...shown.map((fault, i) => ({
      type: 'IgnoredFileWarning' as const,
      message: `The file is ignored, as it is no manifest: ${fault}${i === shown.length - 1 ? others : ''}. With prune, objects that it had are deleted`,
    })),
  ];
}

/** A hook gets a name; a sync refuses any other object without one. */
function unnamedConditions(unnamed: NonNullable<SourceManifests['unnamed']>): readonly ApplicationCondition[] {
  const refused = unnamed.filter(({ object }) => !isHook(object));
  return refused.slice(0, maxUnnamed).map(({ object, where }, i) => {
    const others = i === maxUnnamed - 1 ? refused.length - maxUnnamed : 0;
    const more = others > 0 ? `, and so have ${others} more objects` : '';
    return {
      type: 'UnnamedResourceWarning',
      message: `The ${object.kind} in ${where} has no metadata.name${more}. A sync refuses it, unless it is replaced (Replace=true): give it a name, or leave the file out`,
    };
  });
}
