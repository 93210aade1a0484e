import { deepEqual, isObject, ownMember, setOwnMember } from '#base';
import type { JsonObject, MutableJson, MutableJsonObject } from '#base';
import type { KubeObject, Settings } from '#model';
import type { IgnoredFields } from '../ignore/ignored.ts';
import { readLastApplied } from '../applied/read-last-applied.ts';
import type { AppliedBefore } from '../applied/applied-before.ts';
import { lastAppliedText } from '../patch/last-applied.ts';
import { asKube } from '../shared/values.ts';
import type { SidePair } from '../shared/values.ts';
import { preparer } from './prepare.ts';

/** Both sides of a comparison and the manifest that was applied last, in comparable form. */
export interface PreparedPair {
  readonly wanted: JsonObject;
  readonly present: JsonObject;
  readonly original: JsonObject | undefined;
  /** Why the last-applied annotation does not count. */
  readonly fault: string | undefined;
}

/** {@link AppliedBefore}, and how it joins the manifest of last-applied. */
export interface BeforePair extends Pick<AppliedBefore, 'dropped'> {
  readonly withDropped: (manifest: JsonObject | undefined, dropped: JsonObject) => JsonObject | undefined;
}

/** A prepared form and the rules that it was made by, which are those of one settings object. */
interface KeptForm {
  readonly rules: object;
  readonly form: JsonObject;
  /** Set for targets: the last-applied annotation that was found equal to `form`. */
  appliedText?: string | undefined;
  /** Set for live objects: the prepared last-applied manifest, if a target was equal to it. */
  applied?: JsonObject;
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
 * @param before what we applied before; undefined for a server-side apply, which has no original.
 */
export function preparePair(
  { target, live }: SidePair<JsonObject>,
  before: BeforePair | undefined,
  settings: Settings,
  ignored: IgnoredFields,
): PreparedPair {
  const prepare = preparer(settings, ignored);
  const kept = (forms: KeptForms, object: JsonObject, make: () => JsonObject): KeptForm =>
    keptForm(forms, object, ignored, make);
  const wanted = kept(targetForms, target, () => withoutNamespace(prepare(target, 'keep')));
  const present = kept(liveForms, live, () => prepare(live, 'structs'));
  if (before === undefined)
    return { wanted: wanted.form, present: present.form, original: undefined, fault: undefined };
  const prepareManifest = (object: JsonObject): JsonObject => withoutNamespace(prepare(object, 'keep'));
  const { form, fault } = appliedForm(wanted, present, asKube(live), prepareManifest);
  const { dropped } = before;
  const original = dropped === undefined ? form : before.withDropped(form, prepareManifest(dropped));
  return { wanted: wanted.form, present: present.form, original, fault };
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

interface AppliedForm {
  readonly form: JsonObject | undefined;
  readonly fault?: string | undefined;
}

/**
 * Mostly the manifest that was applied last is the target: its text is parsed again only if both
 * the target and the live object are others than before.
 */
function appliedForm(
  wanted: KeptForm,
  present: KeptForm,
  live: KubeObject,
  prepare: (object: JsonObject) => JsonObject,
): AppliedForm {
  const text = lastAppliedText(live);
  if (text === undefined) return { form: undefined };
  const known = wanted.appliedText === text ? wanted.form : present.applied;
  const { manifest, fault } = known === undefined ? readLastApplied(live) : {};
  const form = known ?? (manifest && prepare(manifest));
  if (form === undefined || !deepEqual(form, wanted.form)) return { form, fault };
  wanted.appliedText = text;
  present.applied = wanted.form;
  return { form: wanted.form };
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
