import { explainApplication, fullViewer, parseApiRequest, ReadApi } from '#api';
import type { ApplicationResponse, ApplicationsResponse, ApplicationSummary, ReplicaFacts, Verdict } from '#api';
import type { Clock } from '#base';

export { factsOf } from '../../../api/testing/index.ts';

const signal = new AbortController().signal;

export interface Explained {
  readonly verdict: Verdict;
  readonly reason: string;
  /** All that `driftless explain` prints. */
  readonly text: string;
  readonly next: string;
  readonly page: ApplicationResponse;
  /** Its row of the list. */
  readonly row: ApplicationSummary | undefined;
}

/** What people see of the Application `demo`: its page in words, and its row of the list. */
export async function explained(facts: ReplicaFacts, name = 'demo'): Promise<Explained> {
  const api = new ReadApi({ clock: facts.clock as Clock, peers: () => [], facts });
  const caller = { viewer: fullViewer, isPeer: false };
  const read = (target: string): Promise<object> => api.answer(parseApiRequest(target), caller, signal);
  const page = (await read(`/api/v1/applications/argocd/${name}`)) as ApplicationResponse;
  const list = (await read('/api/v1/applications')) as ApplicationsResponse;
  const { verdict, title, reason = '', sections } = explainApplication(page);
  const text = [title, reason, ...sections.flatMap(({ label, lines }) => [label, ...lines])].join('\n');
  const next = sections.find(({ label }) => label === 'What to do')?.lines[0] ?? '';
  return { verdict, reason, text, next, page, row: list.items.find((item) => item.name === name) };
}
