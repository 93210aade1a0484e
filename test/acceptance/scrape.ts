/** Labels of a sample. */
export type SampleLabels = Readonly<Record<string, string>>;

export interface ScrapedFamily {
  readonly type: string;
  /** By the suffix of the sample's name: empty, `_bucket`, `_sum` or `_count`. */
  readonly samples: Map<string, SampleLabels[]>;
}

/** Families by name. */
export type Scrape = ReadonlyMap<string, ScrapedFamily>;

/** Reads a scrape in Prometheus' text format. */
export function readScrape(text: string): Scrape {
  const families = new Map<string, ScrapedFamily>();
  let current = '';
  for (const line of text.split('\n')) {
    const [, named, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (named !== undefined && type !== undefined) {
      current = named;
      families.set(named, { type, samples: new Map() });
    }
    const [, name = '', labels = ''] = /^([a-z]\w*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (!name.startsWith(current) || name === '') continue;
    const samples = families.get(current)?.samples;
    const suffix = name.slice(current.length);
    samples?.set(suffix, [...(samples.get(suffix) ?? []), readLabels(labels)]);
  }
  return families;
}

export function samplesOf(family: ScrapedFamily | undefined, suffix: string): readonly SampleLabels[] {
  return family?.samples.get(suffix) ?? [];
}

function readLabels(text: string): SampleLabels {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}
