import { omit, seededRandom } from '#base';
import type { JsonObject } from '#base';
import type { CorpusCase, CorpusSource } from '../corpus/index.ts';
import { directoryOptions } from './directory-options.ts';
import { helmOptions } from './helm-options.ts';
import { kustomizeOptions } from './kustomize-options.ts';
import type { OptionLayout } from './layouts.ts';
import { mergeJson } from './option.ts';
import type { SourceOption } from './option.ts';

/** A layout rendered with some options. */
export interface OptionCase {
  readonly layout: OptionLayout;
  readonly options: readonly SourceOption[];
}

const options = { kustomize: kustomizeOptions, helm: helmOptions, directory: directoryOptions };

/** The share of cases with one option, and with at most two. The rest have three. */
const [oneOption, upToTwo] = [0.55, 0.85];
/** How often a layout gets an option of another kind, which mostly both sides refuse. */
const foreignShare = 0.04;

/**
 * Cases of all layouts and options: half of the first ones have each option once, alone, and the
 * others are random. The choice depends only on the seed; a smaller `limit` is a sample of the same
 * cases. No case comes twice.
 */
export function optionCases(
  layouts: readonly OptionLayout[],
  { limit, seed }: { readonly limit: number; readonly seed: number },
): readonly OptionCase[] {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const all = Object.values(options).flat();
  const own = new Map(layouts.map((layout) => [layout, options[layout.kind].filter((one) => hasEffect(one, layout))]));
  const untried = [...all];
  const chosen = new Map<string, OptionCase>();
  const nextUntried = (): OptionCase => {
    const [option] = untried.splice(Math.floor(random.next() * untried.length), 1) as [SourceOption];
    const layout = pick(layouts.filter((one) => own.get(one)?.includes(option) === true));
    return { layout, options: [option] };
  };
  const nextRandom = (): OptionCase => {
    const layout = pick(layouts);
    const [size, foreign] = [random.next(), random.next() < foreignShare];
    const count = size < oneOption ? 1 : size < upToTwo ? 2 : 3;
    const from = foreign ? all : (own.get(layout) ?? []);
    const usable = count === 1 ? from : from.filter(({ isError }) => isError !== true);
    return { layout, options: [...new Set(Array.from({ length: count }, () => pick(usable)))] };
  };
  // Every layout has more single options than this, so that the end is reached.
  while (chosen.size < limit) {
    const one = untried.length > 0 && random.next() < 0.5 ? nextUntried() : nextRandom();
    chosen.set(describeCase(one), one);
  }
  return [...chosen.values()];
}

/** Options of Jsonnet change nothing in a folder without Jsonnet. */
function hasEffect({ source }: SourceOption, { layout }: OptionLayout): boolean {
  return (
    source?.directory?.jsonnet === undefined ||
    Object.keys(layout.files ?? {}).some((path) => path.endsWith('.jsonnet'))
  );
}

/** The layout and the options of a case. */
export function describeCase({ layout, options: some }: OptionCase): string {
  return `${layout.layout.name}: ${some.map(({ name }) => name).join(' + ')}`;
}

/** The changes of one case. They can be removed one by one to shrink it. */
export function settingsOf({ layout, options: some }: OptionCase): JsonObject {
  const { kustomize, helm, directory } = layout.source;
  const { appName, namespace, buildOptions, apiVersions } = layout.layout;
  const own = { ...withoutUndefined({ kustomize, helm, directory, appName, namespace, buildOptions, apiVersions }) };
  return some.reduce<JsonObject>(
    (settings, { source, request }) => mergeJson(settings, { ...source, ...request } as JsonObject) as JsonObject,
    own,
  );
}

/** The Application of a layout with these settings. */
export function applicationOf({ layout, source }: OptionLayout, settings: JsonObject): CorpusCase {
  const { kustomize, helm, directory, ...request } = settings;
  const changed = {
    ...omit(source, 'kustomize', 'helm', 'directory'),
    ...withoutUndefined({ kustomize, helm, directory }),
  } as CorpusSource;
  const rest = omit(layout, 'appName', 'namespace', 'buildOptions', 'apiVersions');
  return { ...rest, ...(request as Partial<CorpusCase>), source: changed };
}

function withoutUndefined(members: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JsonObject;
}
