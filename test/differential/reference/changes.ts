import { areas } from './facts.ts';
import type { Area, Facts } from './facts.ts';

/** A fact that is not the same in both versions. */
export interface Change {
  readonly area: Area;
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly before?: string;
  readonly after?: string;
  /** Our first file that names the fact. Absent if none does, and for modules and files. */
  readonly ours?: string;
}

/** The word to look for in our sources; undefined for areas whose names they do not contain. */
function wordOf(area: Area, name: string): string | undefined {
  if (area === 'module' || area === 'file') return undefined;
  if (area === 'flag') return name.slice('--'.length);
  if (area === 'field') return name.replaceAll('[]', '').split('.').at(-1);
  if (area !== 'health') return name;
  const [, group, kind] = name.split('/');
  return kind === '_' ? group?.replace(/^_\./, '') : kind;
}

/**
 * The facts that differ, by area and name. `ours` are our files by path, in which each name is
 * looked for.
 */
export function changesBetween(from: Facts, to: Facts, ours: ReadonlyMap<string, string>): readonly Change[] {
  return areas.flatMap((area) => {
    const [before, after] = [from[area], to[area]];
    const names = [...new Set([...before.keys(), ...after.keys()])].sort();
    return names.flatMap((name): readonly Change[] => {
      const [old, now] = [before.get(name), after.get(name)];
      if (old === now) return [];
      const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
      const place = placeOf(wordOf(area, name), ours);
      return [
        {
          area,
          name,
          change,
          ...(old === undefined || old === '' ? {} : { before: old }),
          ...(now === undefined || now === '' ? {} : { after: now }),
          ...(place === undefined ? {} : { ours: place }),
        },
      ];
    });
  });
}

function placeOf(word: string | undefined, ours: ReadonlyMap<string, string>): string | undefined {
  if (word === undefined) return undefined;
  for (const [path, text] of ours) if (text.includes(word)) return path;
  return undefined;
}

/** A table of counts, then each change with both definitions and where we name it. */
export function reportOfChanges(changes: readonly Change[], versions: { from: string; to: string }): string {
  const rows = areas.map((area) => {
    const count = (change: Change['change']): number =>
      changes.filter((each) => each.area === area && each.change === change).length;
    return `| ${[area, count('added'), count('removed'), count('changed')].join(' | ')} |`;
  });
  const lines = changes.map(({ area, name, change, before, after, ours }) => {
    const here =
      wordOf(area, name) === undefined ? '' : ours === undefined ? ' (not named by us)' : ` (named in ${ours})`;
    const texts =
      change === 'changed' && area !== 'file' && area !== 'health' ? [`  - ${before ?? ''}`, `  + ${after ?? ''}`] : [];
    return [`${area} ${change}: ${name}${here}`, ...texts].join('\n');
  });
  return [
    `reference: ${changes.length} facts differ between ${versions.from} and ${versions.to}`,
    '| Area | Added | Removed | Changed |',
    '|---|---|---|---|',
    ...rows,
    ...lines,
    '',
  ].join('\n');
}
