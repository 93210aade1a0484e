import { deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { Settings } from '#model';
import type { IgnoredFields } from '../ignore/ignored.ts';
import { parseLastApplied } from '../patch/client-side-apply.ts';
import type { SidePair } from '../shared/values.ts';
import { preparer } from './prepare.ts';

/** Both sides of a comparison and the manifest that was applied last, in comparable form. */
export interface PreparedPair {
  readonly wanted: JsonObject;
  readonly present: JsonObject;
  readonly original: JsonObject | undefined;
}

/** A prepared form and the rules that it was made by, which are those of one settings object. */
interface KeptForm {
  readonly rules: object;
  readonly form: JsonObject;
  /** The last-applied text whose form equals `form`. */
  appliedText?: string;
}

type KeptForms = WeakMap<JsonObject, KeptForm>;

/**
 * The forms of objects that were compared before. Objects are immutable, so a form lives as long as
 * its object: a live one until the cache of parsed objects, which is limited, drops it.
 */
const [targetForms, liveForms]: readonly [KeptForms, KeptForms] = [new WeakMap(), new WeakMap()];

/**
 * Prepares both sides, and reuses the forms of objects that were prepared by the same rules. Rules
 * whose result depends on more than the object are always run.
 * @param appliedText the last-applied annotation of the live object.
 */
export function preparePair(
  { target, live }: SidePair<JsonObject>,
  appliedText: string | undefined,
  settings: Settings,
  ignored: IgnoredFields,
): PreparedPair {
  const prepare = preparer(settings, ignored);
  const kept = (forms: KeptForms, object: JsonObject, make: () => JsonObject): KeptForm =>
    keptForm(forms, object, ignored, make);
  const wanted = kept(targetForms, target, () => withoutNamespace(prepare(target, 'keep')));
  const present = kept(liveForms, live, () => prepare(live, 'structs'));
  const original = originalOf(wanted, appliedText, (object) => withoutNamespace(prepare(object, 'keep')));
  return { wanted: wanted.form, present: present.form, original };
}

function keptForm(forms: KeptForms, object: JsonObject, ignored: IgnoredFields, make: () => JsonObject): KeptForm {
  const { pureRules: rules } = ignored;
  if (rules === undefined) return { rules: {}, form: make() };
  const known = forms.get(object);
  if (known?.rules === rules) return known;
  const made = { rules, form: make() };
  forms.set(object, made);
  return made;
}

/** Mostly the manifest that was applied last is the target: its text is then parsed only once. */
function originalOf(
  wanted: KeptForm,
  text: string | undefined,
  prepare: (object: JsonObject) => JsonObject,
): JsonObject | undefined {
  if (text === undefined) return undefined;
  if (wanted.appliedText === text) return wanted.form;
  const applied = parseLastApplied(text);
  if (applied === undefined) return undefined;
  const form = prepare(applied);
  if (deepEqual(form, wanted.form)) wanted.appliedText = text;
  return form;
}

/** Drops the target's namespace, which may be left to the destination, and empty annotations. */
function withoutNamespace(object: JsonObject): JsonObject {
  const metadata = ownMember(object, 'metadata');
  if (!isObject(metadata)) return object;
  const notes = ownMember(metadata, 'annotations');
  const empty = notes === null || (isObject(notes) && Object.keys(notes).length === 0);
  if (ownMember(metadata, 'namespace') === undefined && !empty) return object;
  const kept: MutableJsonObject = {};
  for (const key of Object.keys(metadata))
    if (key !== 'namespace' && !(empty && key === 'annotations')) setOwnMember(kept, key, metadata[key] as MutableJson);
  return { ...object, metadata: kept };
}
