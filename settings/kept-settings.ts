import { hashJson, isAbort, messageOf } from '#base';
import type { Clock, RandomSource } from '#base';
import { apiResource, isAlreadyExists, isConflict, isForbidden, unlessNotFound } from '#kube';
import type { KubeClient } from '#kube';
import type { KubeObject } from '#model';
import type { LastSettings } from './in-force.ts';
import type { SettingsData } from './parse.ts';
import type { SettingsWriter } from './types.ts';

/** The ConfigMap that keeps the settings that were last in force, for a restart. */
export const keptConfigMap = 'driftless-settings';

const hashAnnotation = 'driftless.io/settings-hash';
const versionAnnotation = 'driftless.io/settings-version';
const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');

/** A change is written after 0.2 to 1.2 s: usually by one replica, and once for many changes. */
const minWriteDelayMs = 200;
const writeJitterMs = 1000;
const minRetryMs = 1000;
const maxRetryMs = 60_000;
const requestDeadlineMs = 5000;
/** A start does not wait longer for the kept settings. */
const maxStartWaitMs = 30_000;

export interface KeptSettingsDeps {
  readonly client: Pick<KubeClient, 'get'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Undefined: only reads. */
  readonly writer: SettingsWriter | undefined;
  /** Annotations to write once with the settings, for other facts of a start. "": none. */
  readonly keptAnnotations?: Readonly<Record<string, string>> | undefined;
  /** Called once the kept settings are known, and before that if they cannot be read. */
  readonly onRead: (last: LastSettings) => void;
}

/** The settings in force, and the resourceVersion of the argocd-cm that they come from. */
interface OfferedSettings {
  readonly data: SettingsData;
  readonly version: string;
}

type ReadDocument = { readonly object: KubeObject; readonly data: SettingsData | undefined } | undefined;

/**
 * Keeps the settings in force in ConfigMap `driftless-settings`, with their hash, so that a restart
 * while argocd-cm is missing or unreadable does not forget them. They hold no credentials: keys of
 * other programs are not among them.
 *
 * Every replica offers what it sees. A replica writes only what is newer than the ConfigMap by the
 * resourceVersion of argocd-cm, under the version that it has read: one whose watch lags never
 * brings older settings back. At rest nothing is read or written.
 */
export class KeptSettings {
  readonly #deps: KeptSettingsDeps;
  #offer: OfferedSettings | undefined;
  /** Not written yet: a later change of them is that of a replica that started later. */
  #annotations: Readonly<Record<string, string>>;
  #problem: string | undefined;
  #isRead = false;
  #retryMs = minRetryMs;
  #wake = (): void => undefined;

  constructor(deps: KeptSettingsDeps) {
    this.#deps = deps;
    this.#annotations = deps.keptAnnotations ?? {};
  }

  /** Why the settings in force would be forgotten by a restart; undefined: they would not. */
  problem(): string | undefined {
    return this.#problem;
  }

  /** Keeps these settings, unless newer ones are kept. */
  offer(data: SettingsData, version: string): void {
    if (this.#deps.writer === undefined) return;
    this.#offer = { data, version };
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const tooLong = clock.timer(maxStartWaitMs, () => {
      // A refusal says more.
      if (this.#problem === undefined) this.#unknown('the API server does not answer');
    });
    try {
      for (;;) {
        const isDone = await this.#step(signal);
        if (this.#isRead) tooLong.cancel();
        await (isDone ? this.#nextOffer(signal) : this.#backOff(signal));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      tooLong.cancel();
    }
  }

  async #nextOffer(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    if (this.#offer === undefined) await this.#offered(signal);
    await clock.sleep(minWriteDelayMs + random.next() * writeJitterMs, signal);
  }

  /** Resolves when there is something to keep. */
  async #offered(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#wake = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
    });
    this.#wake = (): void => undefined;
  }

  async #backOff(signal: AbortSignal): Promise<void> {
    const ms = this.#retryMs * (1 + this.#deps.random.next());
    this.#retryMs = Math.min(maxRetryMs, 2 * this.#retryMs);
    await this.#deps.clock.sleep(ms, signal);
  }

  /** Reads, and writes what is offered. Returns false if it must be tried again. */
  async #step(signal: AbortSignal): Promise<boolean> {
    try {
      const found = await this.#read(signal);
      this.#took(found);
      const offer = this.#offer;
      if (offer === undefined) return true;
      await this.#write(found, offer, signal);
      this.#annotations = {};
      if (this.#offer === offer) this.#offer = undefined;
      this.#problem = undefined;
      this.#retryMs = minRetryMs;
      return true;
    } catch (error) {
      if (signal.aborted || isAbort(error)) throw error;
      // Another replica was faster: read again.
      if (isConflict(error) || isAlreadyExists(error)) return false;
      const advice = isForbidden(error)
        ? `: grant the controller get, create and update on ConfigMap ${keptConfigMap}`
        : '';
      this.#unknown(`${messageOf(error)}${advice}`);
      return false;
    }
  }

  async #read(signal: AbortSignal): Promise<ReadDocument> {
    const { client, namespace } = this.#deps;
    const options = { signal, deadlineMs: requestDeadlineMs };
    const object = await unlessNotFound(client.get(configMaps, { namespace, name: keptConfigMap }, options));
    return object === undefined ? undefined : { object, data: keptData(object) };
  }

  #took(found: ReadDocument): void {
    if (this.#isRead) return;
    this.#isRead = true;
    this.#retryMs = minRetryMs;
    if (found === undefined) this.#deps.onRead('none');
    else if (found.data === undefined) this.#unknown('its content does not match its hash');
    else this.#deps.onRead(found.data);
  }

  /** Settings that cannot be read are not "none": a first installation has no ConfigMap. */
  #unknown(why: string): void {
    this.#problem = `ConfigMap ${keptConfigMap} cannot be read or written: ${why}`;
    if (!this.#isRead || why.startsWith('its content')) this.#deps.onRead('unknown');
  }

  async #write(found: ReadDocument, { data, version }: OfferedSettings, signal: AbortSignal): Promise<void> {
    const { writer, namespace } = this.#deps;
    const hash = hashJson(data);
    const before = found?.object.metadata.annotations ?? {};
    const isKept =
      found?.data !== undefined &&
      (before[hashAnnotation] === hash || !isNewer(version, before[versionAnnotation] ?? ''));
    const hasAnnotations = Object.entries(this.#annotations).every(([name, text]) => (before[name] ?? '') === text);
    if (isKept && hasAnnotations) return;
    const own = isKept ? {} : { [hashAnnotation]: hash, [versionAnnotation]: version };
    const annotations = { ...before, ...own, ...this.#annotations };
    const head = { name: keptConfigMap, namespace, ...found?.object.metadata, annotations };
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      ...found?.object,
      metadata: head,
      data: isKept ? found.data : data,
      binaryData: undefined,
    };
    await writer?.keep(object, signal);
  }
}

/** Undefined if somebody changed it: then it is not known what was in force. */
function keptData(object: KubeObject): SettingsData | undefined {
  const data = (object['data'] ?? {}) as SettingsData;
  return object.metadata.annotations?.[hashAnnotation] === hashJson(data) ? data : undefined;
}

/** Versions that are no numbers have no order: the last writer wins then. */
function isNewer(version: string, kept: string): boolean {
  const isNumber = (text: string): boolean => /^\d+$/.test(text);
  return isNumber(version) && isNumber(kept) ? BigInt(version) > BigInt(kept) : version !== kept;
}
