import { DriftlessError, isObject, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { asApplication } from '#model';
import type { Application, KubeObject } from '#model';
import { recordingFormat } from '../recorder/format.ts';
import type { RecordedHeader, RecordedPass } from '../recorder/format.ts';

/** A recording cannot be read; the message names the line and the fault. */
export class RecordingError extends DriftlessError {
  constructor(message: string) {
    super('RECORDING', message, { retry: 'never' });
  }
}

/** Longer lines are not read: a pass of 10,000 objects takes about 1 MB, an object at most 2 MB. */
export const maxLineLength = 32 * 1024 * 1024;
/** Characters of all values of a part that are kept in memory. */
const maxValueCharacters = 512 * 1024 * 1024;

/** The values that a part of a recording names by id. Each is parsed once. */
export class RecordedValues {
  readonly #values = new Map<string, Json>();
  #characters = 0;

  add(id: string, value: Json, characters: number): void {
    this.#characters += characters;
    if (this.#characters > maxValueCharacters)
      throw new RecordingError(`its values take more than ${maxValueCharacters / 1024 / 1024} MB`);
    this.#values.set(id, value);
  }

  get(id: unknown): JsonObject {
    const value = typeof id === 'string' ? this.#values.get(id) : undefined;
    if (!isObject(value)) throw new RecordingError(`value ${shownId(id)} is missing or no object`);
    return value;
  }

  object(id: unknown): KubeObject {
    const value = this.get(id);
    if (typeof value['apiVersion'] !== 'string' || typeof value['kind'] !== 'string' || !isObject(value['metadata']))
      throw new RecordingError(`value ${shownId(id)} is no Kubernetes object`);
    return value as KubeObject;
  }

  application(id: unknown): Application {
    return asApplication(this.object(id));
  }
}

function shownId(id: unknown): string {
  return typeof id === 'string' ? JSON.stringify(id.slice(0, 40)) : typeof id;
}

/** A pass of a recording with what it refers to. */
export interface ReadPass extends RecordedPass {
  readonly line: number;
  readonly header: ReadHeader;
  readonly values: RecordedValues;
}

export type ReadHeader = Omit<RecordedHeader, 'type' | 'format'>;

export type ReadItem =
  | { readonly kind: 'header'; readonly header: ReadHeader }
  | { readonly kind: 'gap'; readonly message: string }
  | { readonly kind: 'pass'; readonly pass: ReadPass };

/**
 * Reads a recording line by line; lines of unknown types are skipped, since a later version of the
 * same format may have more.
 * @throws RecordingError
 */
export async function* readRecording(lines: AsyncIterable<string>): AsyncGenerator<ReadItem, void> {
  let part: { readonly header: ReadHeader; readonly values: RecordedValues } | undefined;
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (text.trim() === '') continue;
    try {
      const line = parsedLine(text);
      if (line['type'] === 'header') {
        part = { header: readHeader(line), values: new RecordedValues() };
        yield { kind: 'header', header: part.header };
        continue;
      }
      if (part === undefined) throw new RecordingError('it does not begin with the header of a recording');
      if (line['type'] === 'value') part.values.add(textOf(line, 'id'), line['value'] ?? null, text.length);
      else if (line['type'] === 'gap') yield { kind: 'gap', message: textOf(line, 'message') };
      else if (line['type'] === 'refresh' || line['type'] === 'operation')
        yield { kind: 'pass', pass: readPass(line['type'], line, { ...part, line: number }) };
    } catch (error) {
      if (error instanceof RecordingError) throw new RecordingError(`line ${number}: ${error.message}`);
      throw error;
    }
  }
  if (part === undefined) throw new RecordingError('the recording is empty');
}

function parsedLine(text: string): JsonObject {
  if (text.length > maxLineLength) throw new RecordingError(`it is longer than ${maxLineLength / 1024 / 1024} MB`);
  let line: Json;
  try {
    line = parseJson(text);
  } catch {
    throw new RecordingError('it is no JSON; the recording is damaged or truncated');
  }
  if (!isObject(line)) throw new RecordingError('it is no JSON object');
  return line;
}

function readHeader(line: JsonObject): ReadHeader {
  const { format } = line;
  const version = typeof line['version'] === 'string' ? line['version'] : 'an unknown version';
  if (typeof format !== 'number') throw new RecordingError('its header has no format');
  if (format > recordingFormat)
    throw new RecordingError(
      `it has format ${format}, written by Driftless ${version}; this version reads up to format ${recordingFormat}`,
    );
  const config = objectOf(line, 'config');
  const { selfHeal } = config;
  if (!isObject(selfHeal)) throw new RecordingError('its header has no options of self-heal');
  return {
    version,
    replica: textOf(line, 'replica'),
    application: textOf(line, 'application'),
    time: textOf(line, 'time'),
    config: {
      namespace: textOf(config, 'namespace'),
      appResyncMs: numberOf(config, 'appResyncMs'),
      hardResyncMs: numberOf(config, 'hardResyncMs'),
      repoErrorGraceMs: numberOf(config, 'repoErrorGraceMs'),
      persistResourceHealth: config['persistResourceHealth'] === true,
      selfHeal: {
        backoffMs: numberOf(selfHeal, 'backoffMs'),
        factor: numberOf(selfHeal, 'factor'),
        capMs: numberOf(selfHeal, 'capMs'),
        timeoutMs: numberOf(selfHeal, 'timeoutMs'),
      },
      retryLatestRevision: config['retryLatestRevision'] === true,
      syncTimeoutMs: numberOf(config, 'syncTimeoutMs'),
      syncWaveDelayMs: numberOf(config, 'syncWaveDelayMs'),
      hydrates: config['hydrates'] === true,
    },
  };
}

function readPass(
  type: ReadPass['type'],
  line: JsonObject,
  part: Pick<ReadPass, 'header' | 'values' | 'line'>,
): ReadPass {
  const inexact = line['inexact'];
  return {
    ...part,
    type,
    now: numberOf(line, 'now'),
    startedAt: numberOf(line, 'startedAt'),
    inputs: objectOf(line, 'inputs'),
    decisions: objectOf(line, 'decisions'),
    inexact: Array.isArray(inexact) ? inexact.map(String) : [],
  };
}

export function textOf(object: JsonObject, name: string): string {
  const value = object[name];
  if (typeof value !== 'string') throw new RecordingError(`member ${name} is no text`);
  return value;
}

export function numberOf(object: JsonObject, name: string): number {
  const value = object[name];
  if (typeof value !== 'number') throw new RecordingError(`member ${name} is no number`);
  return value;
}

export function objectOf(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  if (!isObject(value)) throw new RecordingError(`member ${name} is no object`);
  return value;
}

/** An absent list is empty. */
export function listOf(object: JsonObject, name: string): readonly Json[] {
  const value = object[name] ?? [];
  if (!Array.isArray(value)) throw new RecordingError(`member ${name} is no list`);
  return value as readonly Json[];
}

/** Pairs such as the entries of a map. */
export function entriesOf(object: JsonObject, name: string): readonly (readonly [string, Json])[] {
  return listOf(object, name).map((entry) => {
    const [key, value = null] = Array.isArray(entry) ? (entry as readonly Json[]) : [];
    if (typeof key !== 'string') throw new RecordingError(`an entry of ${name} has no key`);
    return [key, value];
  });
}
