import { isObject, ownMember } from '#base';
import type { HealthStatus } from '#model';
import { outcome } from './rules/check.ts';
import type { CodeRule } from './rules/check.ts';
import { conditionsOf, scalarText } from './rules/view.ts';
import type { StatusCondition, ObjectView } from './rules/view.ts';

/** The conditions that one parent, ancestor or listener reports about the object. */
interface ReportedConditions {
  readonly name: string;
  readonly conditions: readonly StatusCondition[];
}

/** Entries without conditions are left out. */
function reportsOf(view: ObjectView, path: string, ref = ''): readonly ReportedConditions[] {
  return view
    .list(path)
    .filter((item) => (ownMember(item, 'conditions') ?? null) !== null)
    .map((item) => {
      const reference = ownMember(item, ref);
      const name = isObject(reference) ? scalarText(ownMember(reference, 'name')) : '';
      return { name, conditions: conditionsOf(ownMember(item, 'conditions')) };
    });
}

/** No condition is of another generation. */
function isCurrent(report: ReportedConditions, view: ObjectView): boolean {
  if (!view.has('metadata.generation')) return true;
  return report.conditions.length > 0 && report.conditions.every((item) => !isOfOtherGeneration(item, view));
}

function isOfOtherGeneration(item: StatusCondition, view: ObjectView): boolean {
  const [seen, generation] = [item.fields['observedGeneration'] ?? null, view.get(['metadata', 'generation'])];
  return seen !== null && generation !== null && seen !== generation;
}

function messageOr(item: StatusCondition, text: string): string {
  return (item.fields['message'] ?? null) === null ? text : item.message;
}

/** ResolvedRefs and Accepted with status False are faults; Programmed only takes time. */
function conditionStatus(
  conditions: readonly StatusCondition[],
  title: string,
  what: string,
): HealthStatus | undefined {
  for (const type of ['ResolvedRefs', 'Accepted']) {
    const wrong = conditions.find((item) => item.type === type && item.status === 'False');
    if (wrong !== undefined) return outcome('Degraded', `${title}${messageOr(wrong, `Failed condition: ${type}`)}`);
  }
  const waiting = conditions.find((item) => item.type === 'Programmed' && item.status !== 'True');
  return waiting === undefined
    ? undefined
    : outcome('Progressing', `${title}${messageOr(waiting, `${what} is still being programmed`)}`);
}

/** Only what parents report about the current generation counts. */
export const route: CodeRule = {
  description:
    'by the first parent that decides: Degraded when ResolvedRefs or Accepted is False, Progressing while it is not programmed; Healthy when a parent reports neither',
  evaluate: (view) => {
    const current = reportsOf(view, 'status.parents', 'parentRef').filter((item) => isCurrent(item, view));
    for (const { name, conditions } of current) {
      const found = conditionStatus(conditions, `Parent ${name}: `, 'Route');
      if (found !== undefined) return found;
    }
    return current.some((item) => item.conditions.length > 0)
      ? outcome('Healthy', `${view.kind} is healthy`)
      : undefined;
  },
};

export const tlsRoute: CodeRule = {
  description:
    'Degraded when ResolvedRefs or Accepted of a parent is False, Progressing while a parent is not programmed, Healthy when a parent has both True',
  evaluate: (view) => {
    const current = reportsOf(view, 'status.parents', 'parentRef').filter(
      (item) => item.conditions.length > 0 && isCurrent(item, view),
    );
    const found = current.map((item) => tlsParentStatus(item, `Parent ${item.name}: `));
    const degraded = found.find((item) => item.status === 'Degraded');
    if (degraded !== undefined) return degraded;
    return (
      found.find((item) => item.status === 'Progressing') ??
      found.find((item) => item.status === 'Healthy') ??
      (found[0] === undefined ? undefined : outcome('Progressing', found[0].message))
    );
  },
};

/** Unknown stands for a parent whose conditions are not complete yet. */
function tlsParentStatus({ conditions }: ReportedConditions, title: string): HealthStatus {
  const first = (type: string) => conditions.find((item) => item.type === type);
  const [resolved, acceptedBy, programmed] = [first('ResolvedRefs'), first('Accepted'), first('Programmed')];
  for (const item of [resolved, acceptedBy])
    if (item?.status === 'False')
      return outcome('Degraded', `${title}${item.message === '' ? `Failed condition: ${item.type}` : item.message}`);
  if (programmed !== undefined && programmed.status !== 'True')
    return outcome('Progressing', `${title}${messageOr(programmed, 'Route is still being programmed')}`);
  return acceptedBy?.status === 'True' && resolved?.status === 'True'
    ? outcome('Healthy', 'TLSRoute is healthy')
    : outcome('Unknown', `${title}Waiting for TLSRoute conditions`);
}

export const listeners: CodeRule = {
  description:
    'Degraded when ResolvedRefs or Accepted of the gateway or a listener is False, Progressing while one is not programmed',
  evaluate: (view) => {
    const own = conditionStatus(view.conditions, '', 'Gateway');
    if (own !== undefined) return own;
    for (const { conditions } of reportsOf(view, 'status.listeners')) {
      const found = conditionStatus(conditions, 'Listener: ', 'Listener');
      if (found !== undefined) return found;
    }
    return view.has('status.conditions') || view.count('status.listeners') > 0
      ? outcome('Healthy', 'Gateway is healthy')
      : undefined;
  },
};

export const listenerSet: CodeRule = {
  description:
    'of the conditions of this generation: Degraded when it or a listener is not accepted, Progressing while one is not programmed, Healthy when it has listeners',
  evaluate: (view) => {
    if (view.conditions.some((item) => isOfOtherGeneration(item, view))) return undefined;
    const own = listenerStatus(view.conditions, '', 'ListenerSet', ['Accepted']);
    if (own !== undefined) return own;
    for (const { conditions } of reportsOf(view, 'status.listeners')) {
      const found = listenerStatus(conditions, 'Listener: ', 'Listener', ['ResolvedRefs', 'Conflicted', 'Accepted']);
      if (found !== undefined) return found;
    }
    return view.count('status.listeners') > 0 ? outcome('Healthy', 'ListenerSet is healthy') : undefined;
  },
};

function listenerStatus(
  conditions: readonly StatusCondition[],
  title: string,
  what: string,
  faults: readonly string[],
): HealthStatus | undefined {
  const wrong = conditions.find(
    (item) => faults.includes(item.type) && item.status === (item.type === 'Conflicted' ? 'True' : 'False'),
  );
  if (wrong !== undefined) return outcome('Degraded', `${title}${messageOr(wrong, `${what} is conflicted`)}`);
  const waiting = conditions.findLast((item) => item.type === 'Programmed' && item.status !== 'True');
  return waiting === undefined
    ? undefined
    : outcome('Progressing', `${title}${messageOr(waiting, `${what} is still being programmed`)}`);
}

export const gatewayClass: CodeRule = {
  description: 'by Accepted of this generation: Healthy when True, Degraded when False, else Progressing',
  evaluate: (view) => {
    const found = view.conditions.find((item) => item.type === 'Accepted' && !isOfOtherGeneration(item, view));
    if (found === undefined) return undefined;
    if (found.status === 'True') return outcome('Healthy', messageOr(found, 'GatewayClass is accepted'));
    return found.status === 'False'
      ? outcome('Degraded', messageOr(found, 'GatewayClass is not accepted'))
      : outcome('Progressing', messageOr(found, 'Waiting for GatewayClass status'));
  },
};

/** Envoy Gateway: what the ancestors report about the current generation. */
export const referencePolicy: CodeRule = {
  description: 'Degraded when Accepted of an ancestor is False, Healthy when one reports on this generation',
  evaluate: (view) => {
    const current = reportsOf(view, 'status.ancestors').filter((item) => isCurrent(item, view));
    for (const { conditions } of current) {
      const wrong = conditions.find((item) => item.type === 'Accepted' && item.status === 'False');
      if (wrong !== undefined) return outcome('Degraded', wrong.message);
    }
    return current.some((item) => item.conditions.length > 0)
      ? outcome('Healthy', `${view.kind} is healthy`)
      : undefined;
  },
};

export const accepted: CodeRule = {
  description: 'by Accepted: Progressing when it is of another generation, Healthy when True, else Degraded',
  evaluate: (view) => {
    const found = view.condition('Accepted');
    if (found === undefined) return undefined;
    if (isOfOtherGeneration(found, view))
      return outcome('Progressing', `Waiting for ${view.kind} status to be updated`);
    return outcome(found.status === 'True' ? 'Healthy' : 'Degraded', found.message);
  },
};

/**
 * Policies that ancestors accept. The last ancestor decides, unless one reports a fault.
 * `strict`: a condition without a generation is not current, and an ancestor must have Accepted.
 */
export function ancestorPolicy({ strict }: { readonly strict: boolean }): CodeRule {
  return {
    description:
      'Progressing until every ancestor reports on this generation, Degraded when Accepted or ResolvedRefs of one is not True, Healthy when accepted',
    evaluate: (view) => {
      const reports = reportsOf(view, 'status.ancestors', 'ancestorRef');
      const late = view.has('metadata.generation')
        ? reports.find(({ conditions }) => conditions.some((item) => isLate(item, view, strict)))
        : undefined;
      if (late !== undefined)
        return outcome('Progressing', `Waiting for Ancestor ${late.name} to update ${view.kind} status`);
      let found: HealthStatus | undefined;
      for (const { name, conditions } of reports) {
        const wrong = conditions.find(
          (item) => (item.type === 'Accepted' || item.type === 'ResolvedRefs') && item.status !== 'True',
        );
        if (wrong !== undefined) return outcome('Degraded', `Ancestor ${name}: ${wrong.message}`);
        if (conditions.some((item) => item.type === 'Accepted')) found = outcome('Healthy', `${view.kind} is healthy`);
        else if (strict) found = outcome('Degraded', `Ancestor ${name}: ${view.kind} is not accepted`);
      }
      return found;
    },
  };
}

function isLate(item: StatusCondition, view: ObjectView, strict: boolean): boolean {
  return isOfOtherGeneration(item, view) || (strict && (item.fields['observedGeneration'] ?? null) === null);
}
