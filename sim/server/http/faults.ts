import type { RandomSource } from '#base';
import type { FaultRule } from '../../types.ts';
import type { ResourceRequest } from './request.ts';

export type InjectedFault = FaultRule['fault'];

interface ArmedRule {
  readonly rule: FaultRule;
  left: number;
}

/** How a fault affects the events of one watch. */
export type EventFault =
  { readonly do: 'pass' | 'lose' | 'garble' } | { readonly do: 'cut'; readonly code?: 410 | 500 };

/**
 * Injects faults on demand. The first rule in order of addition acts that matches, has uses left,
 * and wins its random draw. Rules about watch events also affect open watches.
 */
export class FaultInjector {
  readonly #random: RandomSource;
  #rules: readonly ArmedRule[] = [];

  constructor(random: RandomSource) {
    this.#random = random;
  }

  add(rule: FaultRule): () => void {
    const armed: ArmedRule = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#rules = [...this.#rules, armed];
    return () => {
      this.#rules = this.#rules.filter((other) => other !== armed);
    };
  }

  /** The fault for a whole request; {@link watch} handles faults of watch events. */
  faultFor(request: ResourceRequest): InjectedFault | undefined {
    return this.#take(request, (fault) => {
      if (fault.kind === 'cutWatch' || fault.kind === 'loseEvents') return false;
      return fault.kind !== 'badLine' || request.verb !== 'watch';
    })?.rule.fault;
  }

  /** Decides the fate of each event that one watch is about to send. */
  watch(request: ResourceRequest): { next(): EventFault; opened(): EventFault } {
    const sent = new Map<ArmedRule, number>();
    return {
      next: () => this.#event(request, sent, true),
      opened: () => this.#event(request, sent, false),
    };
  }

  #event(request: ResourceRequest, sent: Map<ArmedRule, number>, isEvent: boolean): EventFault {
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

  #take(request: ResourceRequest, wanted: (fault: InjectedFault, armed: ArmedRule) => boolean): ArmedRule | undefined {
    for (const armed of this.#rules) {
      if (armed.left <= 0 || !ruleMatches(armed.rule, request) || !wanted(armed.rule.fault, armed)) continue;
      if (armed.rule.chance !== undefined && this.#random.next() >= armed.rule.chance) continue;
      armed.left -= 1;
      return armed;
    }
    return undefined;
  }
}

function ruleMatches(rule: FaultRule, request: ResourceRequest): boolean {
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
