import { hashJson, isObject } from '#base';
import type { Clock, RandomSource } from '#base';
import type { KubeClient } from '#kube';
import { annotationOf, defaultSettings, jsonOf } from '#model';
import type { KubeObject, Settings, UnreadableSetting } from '#model';
import type { Logger } from '#telemetry';
import { SettingsAnnouncements } from './announcements.ts';
import { settingsInForce } from './in-force.ts';
import type { LastSettings, SettingsInForce, SettingsSource } from './in-force.ts';
import { KeptSettings, keptConfigMap } from './kept-settings.ts';
import { parseSettings } from './parse.ts';
import type { SettingsWriter } from './types.ts';
import type { SettingsProblem } from './values.ts';

/** On an argocd-cm without data: it is empty on purpose. */
export const emptyOnPurpose = 'driftless.io/empty-on-purpose';
const configMap = 'ConfigMap argocd-cm';

export interface ObservedSettingsDeps {
  readonly client: Pick<KubeClient, 'get'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly writer: SettingsWriter | undefined;
  /** See KeptSettings. */
  readonly keptAnnotations?: Readonly<Record<string, string>> | undefined;
  /** Called when the settings in force change. */
  readonly use: (settings: Settings) => void;
}

/**
 * Turns what is seen of argocd-cm into the settings in force, keeps them for a restart, and reports
 * what is not as in argocd-cm. Nothing is decided before the kept settings are known.
 */
export class ObservedSettings {
  readonly #deps: ObservedSettingsDeps;
  readonly #kept: KeptSettings;
  readonly #announcements: SettingsAnnouncements;
  /** Undefined: not seen yet. */
  #seen: { readonly object: KubeObject | undefined } | undefined;
  #last: LastSettings | undefined;
  #isLastRead = false;
  #version = defaultSettings.version;
  #vanished: { readonly how: 'deleted' | 'emptied'; readonly since: number } | undefined;
  #unreadable: readonly UnreadableSetting[] = [];
  #problems: readonly SettingsProblem[] = [];
  #signal: AbortSignal | undefined;
  #onDecided = (): void => undefined;
  readonly #decided = new Promise<void>((resolve) => (this.#onDecided = resolve));

  constructor(deps: ObservedSettingsDeps) {
    this.#deps = deps;
    this.#announcements = new SettingsAnnouncements(deps);
    this.#kept = new KeptSettings({ ...deps, onRead: (last) => this.#onRead(last) });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await this.#kept.run(signal);
  }

  /** Resolves when the settings in force are decided. */
  decided(): Promise<void> {
    return this.#decided;
  }

  /** argocd-cm as it is now; undefined: it does not exist. */
  observe(object: KubeObject | undefined): void {
    this.#seen = { object };
    this.#decide();
  }

  /** argocd-cm was listed: if it was not seen, it does not exist. */
  listed(): void {
    if (this.#seen === undefined) this.observe(undefined);
  }

  /** Settings that differ from argocd-cm, or that a restart would lose. */
  problems(): readonly SettingsProblem[] {
    const kept = this.#kept.problem();
    return [
      ...(this.#vanished === undefined ? [] : [{ object: configMap, message: vanishedText(this.#vanished) }]),
      ...this.#problems,
      ...(kept === undefined ? [] : [{ object: `ConfigMap ${keptConfigMap}`, message: kept }]),
    ];
  }

  /** For metrics. */
  unreadable(): readonly UnreadableSetting[] {
    return this.#unreadable;
  }

  /** Since when argocd-cm is missing or emptied, in seconds; 0: it is not. */
  vanishedSeconds(): number {
    return this.#vanished === undefined ? 0 : Math.max(1, this.#deps.clock.now() - this.#vanished.since) / 1000;
  }

  /** Whether a restart would forget the settings in force. */
  isForgetful(): boolean {
    return this.#kept.problem() !== undefined;
  }

  #onRead(last: LastSettings): void {
    if (this.#isLastRead) return;
    this.#isLastRead = last !== 'unknown';
    // Decisions without the kept settings are made again.
    if (this.#last === undefined || last !== 'unknown') this.#last = last;
    this.#decide();
  }

  #decide(): void {
    if (this.#seen === undefined || this.#last === undefined) return;
    const { object } = this.#seen;
    const inForce = settingsInForce(object === undefined ? undefined : sourceOf(object), this.#last);
    this.#noteVanished(inForce);
    if (object !== undefined) this.#last = inForce.data;
    const { settings, problems, notes } = parseSettings(inForce.data);
    const unreadable = [...inForce.kept, ...settings.unreadable];
    this.#report(inForce, unreadable);
    this.#problems = [...inForce.kept.map(problemOf), ...problems];
    for (const { object: where, message } of notes)
      this.#announcements.note('A setting does less than in Argo CD', where, message);
    for (const problem of problems) this.#announcements.note('A setting is ignored', problem.object, problem.message);
    if (object !== undefined && inForce.vanished === undefined)
      this.#kept.offer(inForce.data, object.metadata.resourceVersion ?? '');
    this.#use(inForce.kept.length === 0 ? settings : { ...settings, unreadable }, inForce);
    this.#onDecided();
  }

  #use(settings: Settings, { kept }: SettingsInForce): void {
    const version = kept.length === 0 ? settings.version : hashJson(jsonOf([settings.version, kept]));
    if (version === this.#version) return;
    this.#version = version;
    this.#deps.use(kept.length === 0 ? settings : { ...settings, version });
  }

  #noteVanished({ vanished }: SettingsInForce): void {
    if (vanished === this.#vanished?.how) return;
    if (vanished === undefined) {
      this.#vanished = undefined;
      this.#deps.logger.info('ConfigMap argocd-cm is back: its settings are in force');
      return;
    }
    this.#vanished = { how: vanished, since: this.#deps.clock.now() };
  }

  /** Warns, and writes Events. */
  #report({ vanished }: SettingsInForce, unreadable: readonly UnreadableSetting[]): void {
    this.#unreadable = unreadable;
    const object = this.#seen?.object;
    const warn = (reason: string, message: string): void =>
      this.#announcements.warn(reason, message, object, this.#signal);
    if (vanished !== undefined) warn('SettingsVanished', `argocd-cm was ${vanished}: ${vanishedAdvice}`);
    for (const setting of unreadable) warn('SettingUnreadable', unreadableText(setting));
  }
}

const vanishedAdvice =
  `the settings that were last in force stay in force. Restore it; to go back to the defaults, ` +
  `create it without data and with the annotation ${emptyOnPurpose}: "true"`;

function vanishedText({ how, since }: { readonly how: string; readonly since: number }): string {
  const time = new Date(since).toISOString().replace(/\.\d+Z$/, 'Z');
  return `it was ${how} (noticed at ${time}): ${vanishedAdvice}`;
}

function problemOf(setting: UnreadableSetting): SettingsProblem {
  return { object: configMap, message: unreadableText(setting) };
}

/** For log lines, Events and conditions. */
export function unreadableText({ key, problem, isKept, kind }: UnreadableSetting): string {
  const consequence = isKept
    ? 'its last readable value stays in force'
    : kind === undefined
      ? 'no value of it is known, so nothing is written'
      : `no value of it is known, so resources of ${kind} that differ are Unknown and not written`;
  return `argocd-cm ${key} cannot be read: ${problem}; ${consequence}`;
}

function sourceOf(object: KubeObject): SettingsSource {
  return {
    data: textData(object),
    binaryKeys: [...Object.keys(object['binaryData'] ?? {}), ...keysWithoutText(object)],
    isEmptyOnPurpose: annotationOf(object, emptyOnPurpose) === 'true',
  };
}

/** Values that no API server accepts are like those under `binaryData`, not like absent ones. */
function keysWithoutText(object: KubeObject): readonly string[] {
  const data = object['data'] ?? {};
  return isObject(data) ? Object.keys(data).filter((key) => typeof data[key] !== 'string') : [];
}

/** The texts of a ConfigMap's data. */
export function textData(object: KubeObject | undefined): Readonly<Record<string, string>> {
  const data = object?.['data'] ?? {};
  if (!isObject(data)) return {};
  const members = Object.entries(data).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(members);
}
