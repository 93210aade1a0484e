import { compileGlob, isObject, outsideText, ownMember, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { isKnownType } from '#diff';
import type { ResourceOverride } from '#model';
import { readIgnoreRules } from './ignore-rules.ts';
import { yamlValue } from './values.ts';
import type { ReportProblem } from './values.ts';

type MutableOverride = { -readonly [K in keyof ResourceOverride]: ResourceOverride[K] };

const customizationPrefix = 'resource.customizations.';
/** The customization of all kinds. */
const anyKind = '*/*';

/**
 * Both forms of `resource.customizations`, by `group/Kind` (`Kind` for the core group, `*\/*` for
 * all). A split key overrides the same field of the bulk form.
 */
export function parseOverrides(
  data: Readonly<Record<string, string>>,
  report: ReportProblem,
): Readonly<Record<string, ResourceOverride>> {
  const overrides = new Map<string, MutableOverride>();
  const of = (key: string): MutableOverride => {
    const override = overrides.get(key) ?? { useOpenLibs: false, knownTypeFields: [] };
    overrides.set(key, override);
    return override;
  };
  const bulkKey = 'resource.customizations';
  const bulk = yamlValue(data[bulkKey], (message) => report(bulkKey, message, { kind: anyKind }));
  if (isObject(bulk)) parseBulkForm(bulk, of, report);
  else if (bulk !== undefined) report(bulkKey, 'must be a YAML map of group/Kind', { kind: anyKind });
  for (const key of Object.keys(data).sort()) {
    if (key.startsWith(customizationPrefix)) parseSplitKey(key, data[key] ?? '', of, report);
  }
  return Object.fromEntries(overrides);
}

function parseBulkForm(bulk: JsonObject, of: (key: string) => MutableOverride, report: ReportProblem): void {
  for (const [kind, value] of Object.entries(bulk)) {
    const where = `resource.customizations: ${outsideText('field', kind)}`;
    const narrowed = { kind: isReadableKind(kind) ? kind : anyKind };
    if (narrowed.kind !== kind) report(where, 'must be a group and a kind, or a kind, possibly with globs', narrowed);
    if (!isObject(value)) {
      report(where, 'must be a map', narrowed);
      continue;
    }
    const override = of(kind);
    const lua = ownMember(value, 'health.lua');
    if (typeof lua === 'string' && lua !== '') override.healthLua = lua;
    override.useOpenLibs = ownMember(value, 'health.lua.useOpenLibs') === true;
    for (const [field, content] of Object.entries(value))
      setCustomization(override, { field, content: content ?? null, where: `${where}: ${field}`, narrowed }, report);
  }
}

interface Customization {
  readonly field: string;
  /** A YAML text, or in the bulk form also its value. */
  readonly content: Json;
  readonly where: string;
  readonly narrowed: { readonly kind: string };
}

/** Sets the ignore rules and known types of a kind; other fields are left to the caller. */
function setCustomization(
  override: MutableOverride,
  { field, content, where, narrowed }: Customization,
  report: ReportProblem,
): void {
  const isNarrowing = field !== 'ignoreResourceUpdates' && isIgnoreRule(field);
  const reportHere = (message: string): void => report(where, message, isNarrowing ? narrowed : undefined);
  const text = typeof content === 'string' ? content : '';
  const read = (): Json => (typeof content === 'string' ? yamlValue(content, reportHere) : content) ?? null;
  if (field === 'ignoreDifferences' || field === 'ignoreResourceUpdates')
    override[field] = readIgnoreRules(
      read(),
      { kind: narrowed.kind, text },
      { narrows: reportHere, widens: (message) => report(where, message) },
    );
  else if (field === 'knownTypeFields')
    override.knownTypeFields = parseKnownTypeFields(read(), where, report, narrowed);
  else if (isNarrowing) reportHere(`unknown kind of customization "${outsideText('field', field)}"`);
}

/** Misspelt names count: a rule that is not understood ignores nothing. */
function isIgnoreRule(field: string): boolean {
  return /^(?:ignore|knowntype)/i.test(field);
}

function parseSplitKey(key: string, text: string, of: (key: string) => MutableOverride, report: ReportProblem): void {
  const rest = key.slice(customizationPrefix.length);
  const dot = rest.indexOf('.');
  const field = dot < 0 ? rest : rest.slice(0, dot);
  const kind = dot < 0 ? undefined : overrideKey(rest.slice(dot + 1));
  const isNarrowing = field !== 'ignoreResourceUpdates' && isIgnoreRule(field);
  if (kind === undefined) {
    const narrowed = isNarrowing ? { kind: anyKind } : undefined;
    report(key, 'must end in .<group>_<Kind>, .<Kind> or .all', narrowed);
    return;
  }
  if (isIgnoreRule(field)) {
    setCustomization(of(kind), { field, content: text, where: key, narrowed: { kind } }, report);
    return;
  }
  switch (field) {
    case 'health':
      if (text !== '') of(kind).healthLua = text;
      return;
    case 'useOpenLibs':
      if (parseGoBool(text) === undefined) report(key, 'must be true or false');
      of(kind).useOpenLibs = parseGoBool(text) ?? false;
      return;
    case 'actions':
      return;
    default:
      report(key, `unknown kind of customization "${field}"`);
  }
}

/** Reports whether a key of the bulk form can select a kind. */
function isReadableKind(kind: string): boolean {
  const parts = kind.split('/');
  return kind !== '' && parts.length <= 2 && parts.every((part) => compileGlob(part) !== undefined);
}

function overrideKey(text: string): string | undefined {
  if (text === 'all') return '*/*';
  const parts = text.split('_');
  if (text === '' || parts.length > 2) return undefined;
  return parts.join('/');
}

function parseKnownTypeFields(
  value: Json,
  where: string,
  report: ReportProblem,
  narrowed: { readonly kind: string },
): ResourceOverride['knownTypeFields'] {
  if (value === null) return [];
  if (!Array.isArray(value)) {
    report(where, 'must be a list of field and type', narrowed);
    return [];
  }
  return (value as readonly Json[]).flatMap((item) => {
    const [field, type] = isObject(item) ? [ownMember(item, 'field'), ownMember(item, 'type')] : [];
    if (typeof field !== 'string' || typeof type !== 'string') {
      report(where, 'every item needs field and type', narrowed);
      return [];
    }
    if (isKnownType(type)) return [{ field, type }];
    report(
      where,
      `type '${outsideText('field', type)}' is not supported: ${outsideText('field', field)} is compared as it is`,
    );
    return [];
  });
}
