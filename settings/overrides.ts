import { isObject, own, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import type { ResourceOverride } from '#model';
import { strings, yamlValue } from './values.ts';
import type { Report } from './values.ts';

type Mutable = { -readonly [K in keyof ResourceOverride]: ResourceOverride[K] };

const prefix = 'resource.customizations.';

/**
 * `resource.customizations` in both its forms, by `group/Kind` (`Kind` for the core group, `*\/*` for all). A split key wins over the
 * same field of the bulk form.
 */
export function parseOverrides(
  data: Readonly<Record<string, string>>,
  report: Report,
): Readonly<Record<string, ResourceOverride>> {
  const overrides = new Map<string, Mutable>();
  const of = (key: string): Mutable => {
    const override = overrides.get(key) ?? { useOpenLibs: false, knownTypeFields: [] };
    overrides.set(key, override);
    return override;
  };
  const bulk = yamlValue(data['resource.customizations'], 'resource.customizations', report);
  if (isObject(bulk)) readBulk(bulk, of, report);
  else if (bulk !== undefined) report('resource.customizations', 'must be a YAML map of group/Kind');
  for (const key of Object.keys(data).sort()) {
    if (key.startsWith(prefix)) readSplit(key, data[key] ?? '', of, report);
  }
  return Object.fromEntries(overrides);
}

function readBulk(bulk: JsonObject, of: (key: string) => Mutable, report: Report): void {
  for (const [kind, value] of Object.entries(bulk)) {
    const where = `resource.customizations: ${kind}`;
    if (!isObject(value)) {
      report(where, 'must be a map');
      continue;
    }
    const override = of(kind);
    const lua = own(value, 'health.lua');
    if (typeof lua === 'string' && lua !== '') override.healthLua = lua;
    override.useOpenLibs = own(value, 'health.lua.useOpenLibs') === true;
    ignore(override, 'ignoreDifferences', nested(own(value, 'ignoreDifferences'), where, report));
    ignore(override, 'ignoreResourceUpdates', nested(own(value, 'ignoreResourceUpdates'), where, report));
    const fields = nested(own(value, 'knownTypeFields'), where, report);
    if (fields !== undefined) override.knownTypeFields = knownFields(fields);
  }
}

/** In the bulk form these are YAML texts inside YAML. */
function nested(value: Json | undefined, where: string, report: Report): Json | undefined {
  return typeof value === 'string' ? yamlValue(value, where, report) : value;
}

function readSplit(key: string, text: string, of: (key: string) => Mutable, report: Report): void {
  const rest = key.slice(prefix.length);
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
      ignore(of(kind), type, value);
      return;
    case 'knownTypeFields':
      of(kind).knownTypeFields = knownFields(value);
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

function ignore(
  override: Mutable,
  field: 'ignoreDifferences' | 'ignoreResourceUpdates',
  value: Json | undefined,
): void {
  if (!isObject(value)) return;
  override[field] = {
    jsonPointers: strings(own(value, 'jsonPointers')),
    jqPathExpressions: strings(own(value, 'jqPathExpressions')),
    managedFieldsManagers: strings(own(value, 'managedFieldsManagers')),
  };
}

function knownFields(value: Json | undefined): ResourceOverride['knownTypeFields'] {
  const items = Array.isArray(value) ? (value as readonly Json[]) : [];
  return items.filter(isObject).flatMap((item) => {
    const [field, type] = [own(item, 'field'), own(item, 'type')];
    return typeof field === 'string' && typeof type === 'string' ? [{ field, type }] : [];
  });
}
