import type { Random } from '#base';
import type { FaultRule } from '../types.ts';
import type { ResourceRequest } from './request.ts';

type Fault = FaultRule['fault'];

interface Armed {
  readonly rule: FaultRule;
  left: number;
}

/** What happens to the events of one watch. */
export type EventFault =
  { readonly do: 'pass' | 'lose' | 'garble' } | { readonly do: 'cut'; readonly code?: 410 | 500 };

/**
 * Misbehaviour on demand. Rules are tried in the order in which they were added; the first that matches, has turns left and wins
 * its throw acts. Rules about watch events act on watches that are already open, too.
 */
export class Faults {
  readonly #random: Random;
  #rules: readonly Armed[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  add(rule: FaultRule): () => void {
    const armed: Armed = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules = [...this.#rules, armed];
    return () => {
      this.#rules = this.#rules.filter((other) => other !== armed);
    };
  }

  /** The fault that meets a request as a whole; events of watches are asked for by {@link watch}. */
  meet(request: ResourceRequest): Fault | undefined {
    return this.#take(request, (fault) => {
      if (fault.kind === 'cutWatch' || fault.kind === 'loseEvents') return false;
      return fault.kind !== 'badLine' || request.verb !== 'watch';
    })?.rule.fault;
  }

  /** Asks, for each event that one watch is about to send, what becomes of it. */
  watch(request: ResourceRequest): { next(): EventFault; opened(): EventFault } {
    const sent = new Map<Armed, number>();
    return {
      next: () => this.#event(request, sent, true),
      opened: () => this.#event(request, sent, false),
    };
  }

  #event(request: ResourceRequest, sent: Map<Armed, number>, isEvent: boolean): EventFault {
    const armed = this.#take(request, (fault, rule) => {
      if (fault.kind === 'cutWatch') {
        const before = sent.get(rule) ?? 0;
        if (isEvent) sent.set(rule, before + 1);
        return before >= fault.afterEvents;
      }
      return isEvent && (fault.kind === 'loseEvents' || fault.kind === 'badLine');
    });
    const fault = armed?.rule.fault;
    if (fault?.kind === 'cutWatch') return { do: 'cut', ...(fault.code === undefined ? {} : { code: fault.code }) };
    if (fault === undefined) return { do: 'pass' };
    return { do: fault.kind === 'loseEvents' ? 'lose' : 'garble' };
  }

  #take(request: ResourceRequest, wanted: (fault: Fault, armed: Armed) => boolean): Armed | undefined {
    for (const armed of this.#rules) {
      if (armed.left <= 0 || !matches(armed.rule, request) || !wanted(armed.rule.fault, armed)) continue;
      if (armed.rule.chance !== undefined && this.#random.next() >= armed.rule.chance) continue;
      armed.left -= 1;
      return armed;
    }
    return undefined;
  }
}

function matches(rule: FaultRule, request: ResourceRequest): boolean {
  const { kind, subresource } = request;
  const resource = subresource === '' ? kind.resource : `${kind.resource}/${subresource}`;
  return (
    (rule.verb === undefined || rule.verb === request.verb) &&
    (rule.group === undefined || rule.group === kind.group) &&
    (rule.resource === undefined || rule.resource === resource) &&
    (rule.namespace === undefined || rule.namespace === request.namespace) &&
    (rule.name === undefined || rule.name === request.name) &&
    (rule.agent === undefined || request.agent.includes(rule.agent))
  );
}
