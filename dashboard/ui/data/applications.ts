import { batch, signal } from '@preact/signals';
import type { ApplicationsResponse, ApplicationSummary } from '../../../api/application-types.ts';
import { listedApplication } from '../logic/filters.ts';
import type { ListedApplication } from '../logic/filters.ts';
import { parseServerEvents } from '../logic/server-events.ts';
import type { ServerEvent } from '../logic/server-events.ts';
import { ApiProblem, ask, getPage } from './client.ts';
import { token } from './storage.ts';
import { sleep } from './time.ts';

export type Connection = 'connecting' | 'live' | 'lost' | 'refused';

export const connection = signal<Connection>('connecting');
/** All Applications that the caller may read, sorted by key. */
export const applications = signal<readonly ListedApplication[]>([]);
/** Whether the first list was read. */
export const isLoaded = signal(false);
export const listProblem = signal<string | undefined>(undefined);
/** Grows when owners change. */
export const ownershipVersion = signal(0);
/** The keys of the last changes, for pages of one Application. */
export const lastChanges = signal<ReadonlySet<string>>(new Set());

const listLimit = 1000;
const firstRetryMs = 500;
const longestRetryMs = 10_000;
/** A stream that is silent for longer is broken: it has heartbeats. */
const silenceMs = 25_000;

const known = new Map<string, ListedApplication>();
let lastEventId = '';
/** Changes that arrive while the list is read. */
let held: StreamChanges[] | undefined;

interface StreamChanges {
  readonly changed: readonly ApplicationSummary[];
  readonly removed: readonly string[];
}

/** Follows the stream until aborted; it connects again, and continues where it was. */
export async function followChanges(signal: AbortSignal): Promise<void> {
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    let state: Connection = 'lost';
    try {
      await followOnce(signal, () => {
        retryMs = firstRetryMs;
      });
    } catch (error) {
      const code = error instanceof ApiProblem ? error.code : 0;
      if (code === 401 || code === 403) lastEventId = '';
      if (code === 401) {
        await untilTokenChanges(signal);
        continue;
      }
      if (code === 403) {
        show(new Map());
        // Rights may come later.
        state = 'refused';
      }
    }
    connection.value = state;
    await sleep(retryMs, signal);
    retryMs = Math.min(longestRetryMs, retryMs * 2);
  }
}

async function followOnce(signal: AbortSignal, onOpen: () => void): Promise<void> {
  const silence = new AbortController();
  const stop = (): void => silence.abort();
  signal.addEventListener('abort', stop, { once: true });
  let timer = setTimeout(stop, silenceMs);
  try {
    const response = await ask('stream', silence.signal, lastEventId === '' ? {} : { 'last-event-id': lastEventId });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (reader === undefined) return;
    onOpen();
    connection.value = 'live';
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(stop, silenceMs);
      const { events, rest } = parseServerEvents(text + part.value);
      text = rest;
      for (const event of events) receive(event, signal);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

function receive({ type, data, id }: ServerEvent, signal: AbortSignal): void {
  if (type === 'reset') void readList(signal);
  else if (type === 'ownership') ownershipVersion.value += 1;
  else if (type === 'applications') apply(JSON.parse(data) as StreamChanges);
  lastEventId = id;
}

function apply(changes: StreamChanges): void {
  if (held !== undefined) {
    held.push(changes);
    return;
  }
  store(changes);
}

function store({ changed, removed }: StreamChanges): void {
  const fresh = changed.map(listedApplication);
  const isReplacement = removed.length === 0 && fresh.every(({ key }) => known.has(key));
  for (const item of fresh) known.set(item.key, item);
  for (const key of removed) known.delete(key);
  const rows = isReplacement
    ? applications.value.map(({ key }) => known.get(key)).filter((item) => item !== undefined)
    : sortedRows();
  batch(() => {
    applications.value = rows;
    lastChanges.value = new Set([...fresh.map(({ key }) => key), ...removed]);
  });
}

function sortedRows(): readonly ListedApplication[] {
  return [...known.values()].sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)));
}

let reading: AbortController | undefined;

/** Reads the whole list, page by page. The first page is shown at once. */
async function readList(signal: AbortSignal): Promise<void> {
  reading?.abort();
  const mine = new AbortController();
  reading = mine;
  held = [];
  ownershipVersion.value += 1;
  const found = new Map<string, ListedApplication>();
  try {
    let next: string | undefined = '';
    while (next !== undefined) {
      const after: string = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
      const page: ApplicationsResponse = await getPage(`applications?limit=${listLimit}${after}`, signal);
      if (mine.signal.aborted) return;
      for (const app of page.items) {
        const item = listedApplication(app);
        found.set(item.key, item);
      }
      next = page.continue;
      if (!isLoaded.value) show(found);
    }
    show(found);
    listProblem.value = undefined;
  } catch (error) {
    listProblem.value = error instanceof Error ? error.message : 'The list cannot be read.';
    lastEventId = '';
  } finally {
    if (reading === mine) {
      const waiting = held;
      held = undefined;
      for (const changes of waiting) store(changes);
    }
  }
}

function show(found: ReadonlyMap<string, ListedApplication>): void {
  known.clear();
  for (const [key, item] of found) known.set(key, item);
  batch(() => {
    applications.value = sortedRows();
    isLoaded.value = true;
  });
}

function untilTokenChanges(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const before = token.value;
    const stop = token.subscribe((now) => {
      if (now !== before) finish();
    });
    function finish(): void {
      // The subscription calls back before it returns.
      queueMicrotask(() => stop());
      resolve();
    }
    signal.addEventListener('abort', finish, { once: true });
  });
}
