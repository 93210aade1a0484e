/** Label values of one sample. */
export type MetricLabels = Readonly<Record<string, string | number>>;

/** Longest label value: tenants choose some of them (a `repoURL` may have a megabyte). */
const maxLabelLength = 512;

/**
 * Labels as in Prometheus' text format, without braces; in the order of `names`, or of the object.
 * A long value is cut.
 */
export function labelText(labels: MetricLabels, names: readonly string[] = Object.keys(labels)): string {
  let text = '';
  for (const name of names) {
    const value = labels[name];
    if (value === undefined) continue;
    text += `${text === '' ? '' : ','}${name}="${escapeLabel(cutLabel(String(value)))}"`;
  }
  return text;
}

function cutLabel(value: string): string {
  return value.length <= maxLabelLength ? value : `${value.slice(0, maxLabelLength - 1)}…`;
}

function escapeLabel(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** The metric label of a Kubernetes label, as Argo CD normalises it (util/metrics/metrics.go). */
export function labelName(kubernetesLabel: string): string {
  return `label_${kubernetesLabel.replaceAll(/[^a-zA-Z0-9_]/g, '_')}`;
}

/**
 * The metric labels of an object, for the Kubernetes labels that are wanted. A missing one has an
 * empty value, so that each object has a series.
 */
export function labelValues(
  labels: Readonly<Record<string, string>>,
  wanted: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    wanted.map((name) => [labelName(name), Object.hasOwn(labels, name) ? (labels[name] ?? '') : '']),
  );
}

export function escapeHelp(help: string): string {
  return help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/**
 * A number as Go's client library writes it (`%g`): queries may match the `le` of a bucket by its
 * text, such as `1.048576e+06`.
 */
export function formatGoFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return '0';
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
