import { isObject, outsideText, ownMember, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { isKnownType } from '#diff';
import type { ResourceOverride } from '#model';
import { stringItems, yamlValue } from './values.ts';
import type { ReportProblem } from './values.ts';

type MutableOverride = { -readonly [K in keyof ResourceOverride]: ResourceOverride[K] };

const customizationPrefix = 'resource.customizations.';

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
  const bulk = yamlValue(data['resource.customizations'], 'resource.customizations', report);
  if (isObject(bulk)) parseBulkForm(bulk, of, report);
  else if (bulk !== undefined) report('resource.customizations', 'must be a YAML map of group/Kind');
  for (const key of Object.keys(data).sort()) {
    if (key.startsWith(customizationPrefix)) parseSplitKey(key, data[key] ?? '', of, report);
  }
  return Object.fromEntries(overrides);
}

function parseBulkForm(bulk: JsonObject, of: (key: string) => MutableOverride, report: ReportProblem): void {
  for (const [kind, value] of Object.entries(bulk)) {
    const where = `resource.customizations: ${kind}`;
    if (!isObject(value)) {
      report(where, 'must be a map');
      continue;
    }
    const override = of(kind);
    const lua = ownMember(value, 'health.lua');
    if (typeof lua === 'string' && lua !== '') override.healthLua = lua;
    override.useOpenLibs = ownMember(value, 'health.lua.useOpenLibs') === true;
    setIgnoreRules(override, 'ignoreDifferences', parseNested(ownMember(value, 'ignoreDifferences'), where, report));
    setIgnoreRules(
      override,
      'ignoreResourceUpdates',
      parseNested(ownMember(value, 'ignoreResourceUpdates'), where, report),
    );
    const fields = parseNested(ownMember(value, 'knownTypeFields'), where, report);
    if (fields !== undefined)
      override.knownTypeFields = parseKnownTypeFields(fields, `${where}: knownTypeFields`, report);
  }
}

/** In the bulk form these are YAML texts inside YAML. */
function parseNested(value: Json | undefined, where: string, report: ReportProblem): Json | undefined {
  return typeof value === 'string' ? yamlValue(value, where, report) : value;
}

function parseSplitKey(key: string, text: string, of: (key: string) => MutableOverride, report: ReportProblem): void {
  const rest = key.slice(customizationPrefix.length);
  const dot = rest.indexOf('.');
  const type = dot < 0 ? rest : rest.slice(0, dot);
  const kind = dot < 0 ? undefined : overrideKey(rest.slice(dot + 1));
  if (kind === undefined) {
    report(key, 'must end in .<group>_<Kind>, .<Kind> or .all');
    return;
  }
  const value = type.startsWith('ignore') || type === 'knownTypeFields' ? yamlValue(text, key, report) : undefined;
  switch (type) {
    case 'health':
      if (text !== '') of(kind).healthLua = text;
      return;
    case 'useOpenLibs':
      if (parseGoBool(text) === undefined) report(key, 'must be true or false');
      of(kind).useOpenLibs = parseGoBool(text) ?? false;
      return;
    case 'ignoreDifferences':
    case 'ignoreResourceUpdates':
      setIgnoreRules(of(kind), type, value);
      return;
    case 'knownTypeFields':
      of(kind).knownTypeFields = parseKnownTypeFields(value ?? null, key, report);
      return;
    case 'actions':
      return;
    default:
      report(key, `unknown kind of customization "${type}"`);
  }
}

function overrideKey(text: string): string | undefined {
  if (text === 'all') return '*/*';
  const parts = text.split('_');
  if (text === '' || parts.length > 2) return undefined;
  return parts.join('/');
}

function setIgnoreRules(
  override: MutableOverride,
  field: 'ignoreDifferences' | 'ignoreResourceUpdates',
  value: Json | undefined,
): void {
  if (!isObject(value)) return;
  override[field] = {
    jsonPointers: stringItems(ownMember(value, 'jsonPointers')),
    jqPathExpressions: stringItems(ownMember(value, 'jqPathExpressions')),
    managedFieldsManagers: stringItems(ownMember(value, 'managedFieldsManagers')),
  };
}

function parseKnownTypeFields(value: Json, where: string, report: ReportProblem): ResourceOverride['knownTypeFields'] {
  if (value === null) return [];
  if (!Array.isArray(value)) {
    report(where, 'must be a list of field and type');
    return [];
  }
  return (value as readonly Json[]).flatMap((item) => {
    const [field, type] = isObject(item) ? [ownMember(item, 'field'), ownMember(item, 'type')] : [];
    if (typeof field !== 'string' || typeof type !== 'string') {
      report(where, 'every item needs field and type');
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
