import type { ApiAnswer, ApiClient, ApiEvent, ApiRequest } from '#support';
import { eventually } from '#support';
import { normal, normalText } from './normal.ts';
import type { ScenarioCall, ConformanceScenario, ScenarioWatch } from './scenario.ts';

/** An answer as compared and recorded. */
export interface PlayedStep {
  /** `2: PATCH /api/v1/...`: number and request. */
  readonly step: string;
  readonly status: number;
  readonly contentType?: string;
  readonly warnings?: readonly string[];
  readonly answer: unknown;
}

/** Plays a scenario against a server: creates its namespace first and cleans up at the end. */
export async function play(
  scenario: ConformanceScenario,
  api: ApiClient,
  compact: () => Promise<void>,
): Promise<PlayedStep[]> {
  const namespace = `c-${scenario.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`.slice(0, 60).replace(/-$/, '');
  await prepare(api, namespace);
  const player = new ScenarioPlayer(api, namespace);
  for (const step of scenario.steps) {
    if (step.kind === 'compact') await compact();
    else await player.step(step);
  }
  return player.played;
}

/** Creates a namespace with its default ServiceAccount, as controllers do. */
async function prepare(api: ApiClient, name: string): Promise<void> {
  await api.create('/api/v1/namespaces', { metadata: { name } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  const answer = await api.exchange({
    method: 'POST',
    path: `/api/v1/namespaces/${name}/serviceaccounts`,
    body: account,
  });
  if (answer.status !== 201 && answer.status !== 409) throw new Error(answer.text);
}

class ScenarioPlayer {
  readonly played: PlayedStep[] = [];
  readonly #api: ApiClient;
  readonly #namespace: string;
  readonly #seen: ApiAnswer[] = [];

  constructor(api: ApiClient, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
  }

  async step(step: ScenarioCall | ScenarioWatch): Promise<void> {
    await (step.kind === 'call' ? this.#call(step) : this.#watch(step));
  }

  async #call(call: ScenarioCall): Promise<void> {
    const request = this.#request(call);
    const answer = await this.#answer(request, call.until);
    this.#seen.push(answer);
    if (call.silent === true) {
      if (answer.status >= 400) throw new Error(`${request.method} ${request.path}: ${answer.status} ${answer.text}`);
      return;
    }
    const body = answer.body ?? answer.text;
    const shown = call.show === undefined || typeof body === 'string' ? body : call.show(body);
    this.#keep(request, answer, shown);
  }

  #answer(request: ApiRequest, until: ScenarioCall['until']): Promise<ApiAnswer> {
    if (until === undefined) return this.#api.exchange(request);
    return eventually(async () => {
      const answer = await this.#api.exchange(request);
      if (!until(answer)) throw new Error(`${request.path} does not become what it should: ${answer.text}`);
      return answer;
    }, 15_000);
  }

  async #watch(step: ScenarioWatch): Promise<void> {
    const request = this.#request(step);
    const events: ApiEvent[] = [];
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), step.limitMs);
    const reading = this.#read(request.path, { events, wanted: step.events, signal: stop.signal });
    for (const call of step.during ?? []) await this.#call(call);
    const status = await reading;
    clearTimeout(timer);
    stop.abort();
    this.#keep(request, { status, headers: {} }, events);
  }

  async #read(path: string, how: { events: ApiEvent[]; wanted: number; signal: AbortSignal }): Promise<number> {
    try {
      for await (const event of this.#api.watch(path, how.signal)) {
        how.events.push(event);
        if (how.events.length >= how.wanted) break;
      }
    } catch (error) {
      const refused = /: (\d{3}) (\{.*)$/s.exec(String(error));
      if (refused === null) return 0;
      how.events.push({ type: 'REFUSED', object: JSON.parse(refused[2] ?? '{}') as Record<string, unknown> });
      return Number(refused[1]);
    }
    return 200;
  }

  #request(step: ScenarioCall | ScenarioWatch): ApiRequest {
    const asked = typeof step.ask === 'function' ? step.ask(this.#seen) : step.ask;
    return JSON.parse(JSON.stringify(asked).replaceAll('{ns}', this.#namespace)) as ApiRequest;
  }

  #keep(request: ApiRequest, answer: Pick<ApiAnswer, 'status' | 'headers'>, shown: unknown): void {
    const { warning, 'content-type': contentType } = answer.headers;
    const path = request.path
      .replace(/continue=[^&]+/, 'continue=<token>')
      .replace(/resourceVersion=(?!(?:0|1|999999999)\b)\d+/, 'resourceVersion=<version>');
    this.played.push({
      step: `${this.played.length + 1}: ${request.method} ${normalText(path)}`,
      status: answer.status,
      ...(contentType === undefined || contentType === 'application/json' ? {} : { contentType }),
      ...(warning === undefined ? {} : { warnings: warning.split(/\n|(?<="), (?=299)/) }),
      answer: normal(unordered(shown)),
    });
  }
}

/**
 * Sorts the causes of a rejected custom resource: the server validates properties in random order.
 */
function unordered(shown: unknown): unknown {
  if (typeof shown !== 'object' || shown === null) return shown;
  const status = shown as {
    readonly reason?: string;
    readonly message?: string;
    readonly details?: { readonly group?: string; readonly causes?: readonly { field: string; message: string }[] };
  };
  const { details, message = '' } = status;
  const causes = details?.causes ?? [];
  if (status.reason !== 'Invalid' || details?.group?.endsWith('.example.com') !== true || causes.length < 2)
    return shown;
  const sorted = [...causes].sort((a, b) => (`${a.field} ${a.message}` < `${b.field} ${b.message}` ? -1 : 1));
  const all = causes.every((cause) => message.includes(`${cause.field}: ${cause.message}`));
  return {
    ...status,
    message: message.replace(/: \[.*\]$/s, all ? ': [<causes>]' : ': [<other causes>]'),
    details: { ...details, causes: sorted },
  };
}
