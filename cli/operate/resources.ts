import { globMatch, UsageError } from '#base';
import { refOfStatus } from '#model';
import type { Application, ResourceRef, SyncOperationResource } from '#model';
import { nearest } from '../options/args.ts';
import { nameOf, OperateError } from './errors.ts';

/** One `--resource`, of globs; an empty namespace stands for any. */
export interface ResourceSelector extends ResourceRef {
  readonly isExcluded: boolean;
}

/** `GROUP:KIND:NAME` or `GROUP:KIND:NAMESPACE/NAME`, with a leading `!` to leave it out. */
export function parseSelector(text: string): ResourceSelector {
  const isExcluded = text.startsWith('!');
  const [group = '', kind = '', path = '', ...more] = (isExcluded ? text.slice(1) : text).split(':');
  const [first = '', second, ...rest] = path.split('/');
  const name = second ?? first;
  if (kind === '' || name === '' || more.length + rest.length > 0)
    throw new UsageError(`--resource must be GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, not "${text}"`);
  return { group, kind, namespace: second === undefined ? '' : first, name, isExcluded };
}

/**
 * Resources of the Application that the selectors choose, as an operation names them; none without
 * selectors. Selectors that only leave resources out choose all others.
 * @throws OperateError if a selector chooses nothing: an operation without resources syncs all
 */
export function selectResources(app: Application, texts: readonly string[]): readonly SyncOperationResource[] {
  if (texts.length === 0) return [];
  const selectors = texts.map(parseSelector);
  const rows = (app.status?.resources ?? []).map(refOfStatus);
  const unknown = selectors.findIndex((selector) => !rows.some((row) => isSelected(row, selector)));
  if (unknown >= 0) throw new OperateError(nothingSelected(app, texts[unknown] ?? '', rows));
  const wanted = selectors.filter(({ isExcluded }) => !isExcluded);
  const chosen = rows.filter(
    (row) =>
      (wanted.length === 0 || wanted.some((selector) => isSelected(row, selector))) &&
      !selectors.some((selector) => selector.isExcluded && isSelected(row, selector)),
  );
  if (chosen.length === 0) throw new OperateError(`--resource leaves out every resource of Application ${nameOf(app)}`);
  return chosen.map(({ group, kind, namespace, name }) => ({
    ...(group === '' ? {} : { group }),
    kind,
    name,
    ...(namespace === '' ? {} : { namespace }),
  }));
}

function isSelected(row: ResourceRef, { group, kind, namespace, name }: ResourceSelector): boolean {
  return (
    globMatch(group, row.group) &&
    globMatch(kind, row.kind) &&
    globMatch(name, row.name) &&
    (namespace === '' || globMatch(namespace, row.namespace))
  );
}

function nothingSelected(app: Application, text: string, rows: readonly ResourceRef[]): string {
  const what = `Application ${nameOf(app)} has no resource ${text.replace(/^!/, '')}`;
  if (rows.length === 0) return `${what}: it has no resources yet; see driftless explain ${nameOf(app)}`;
  const known = rows.map(({ group, kind, name }) => `${group}:${kind}:${name}`);
  const similar = nearest(text.replace(/^!/, '').replace(/:[^:/]*\//, ':'), known);
  return similar === undefined
    ? `${what}; kubectl describe shows its status.resources`
    : `${what}: did you mean ${similar}?`;
}
