import { at, own } from '#base';
import type { KubeObject } from '#model';
import { asJson, field } from './fields.ts';
import type { ServedKind } from './registry.ts';
import { badRequest } from './status.ts';

export type Matcher = (object: KubeObject) => boolean;

const everything: Matcher = () => true;

type Operator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

/**
 * The matcher of a label selector in its text form: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`, joined by
 * commas (apimachinery: pkg/labels/selector.go).
 * @throws SimError 400
 */
export function labelMatcher(selector: string): Matcher {
  const requirements = parseLabels(selector);
  if (requirements.length === 0) return everything;
  return (object) => {
    const labels = asJson(object.metadata)['labels'] ?? {};
    return requirements.every((requirement) => {
      const value = at(labels, requirement.key);
      return satisfies(requirement, typeof value === 'string' ? value : undefined);
    });
  };
}

function satisfies(requirement: Requirement, value: string | undefined): boolean {
  const { operator, values } = requirement;
  switch (operator) {
    case '=':
    case 'in':
      return value !== undefined && values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case '>':
    case '<': {
      if (value === undefined || !/^-?[0-9]+$/.test(value)) return false;
      const difference = Number(value) - Number(values[0]);
      return operator === '>' ? difference > 0 : difference < 0;
    }
  }
}

const labelKey = String.raw`(?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?`;
const labelValue = String.raw`(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?`;
const shapes: readonly { readonly operator: Operator | undefined; readonly shape: RegExp }[] = [
  { operator: '!', shape: new RegExp(`^!\\s*(${labelKey})$`) },
  { operator: 'notin', shape: new RegExp(`^(${labelKey})\\s+notin\\s*\\(([^()]*)\\)$`) },
  { operator: 'in', shape: new RegExp(`^(${labelKey})\\s+in\\s*\\(([^()]*)\\)$`) },
  { operator: '!=', shape: new RegExp(`^(${labelKey})\\s*!=\\s*(${labelValue})$`) },
  { operator: '=', shape: new RegExp(`^(${labelKey})\\s*==?\\s*(${labelValue})$`) },
  { operator: '>', shape: new RegExp(`^(${labelKey})\\s*>\\s*(-?[0-9]+)$`) },
  { operator: '<', shape: new RegExp(`^(${labelKey})\\s*<\\s*(-?[0-9]+)$`) },
  { operator: 'exists', shape: new RegExp(`^(${labelKey})$`) },
];

function parseLabels(selector: string): readonly Requirement[] {
  if (selector.trim() === '') return [];
  return splitOutsideParentheses(selector).map((part) => parseRequirement(part.trim()));
}

function splitOutsideParentheses(selector: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < selector.length; i += 1) {
    if (selector[i] === '(') depth += 1;
    else if (selector[i] === ')') depth -= 1;
    else if (selector[i] === ',' && depth === 0) {
      parts.push(selector.slice(from, i));
      from = i + 1;
    }
  }
  parts.push(selector.slice(from));
  return parts;
}

function parseRequirement(part: string): Requirement {
  for (const { operator, shape } of shapes) {
    const found = shape.exec(part);
    if (found === null || operator === undefined) continue;
    const [, key = '', rest] = found;
    const many = operator === 'in' || operator === 'notin';
    const values = rest === undefined ? [] : many ? rest.split(',').map((value) => value.trim()) : [rest];
    const valid = new RegExp(`^${labelValue}$`);
    if (!many || values.every((value) => valid.test(value))) return { key, operator, values };
  }
  throw badRequest(
    `unable to parse requirement: found '${part}', expected: a label selector such as a=b, a!=b, a in (b,c), a or !a`,
  );
}

interface FieldTerm {
  readonly name: string;
  readonly value: string;
  readonly equal: boolean;
}

/**
 * The matcher of a field selector (`metadata.name=x,status.phase!=Running`) and the name that it fixes, if it does.
 * @throws SimError 400 for a field that this kind does not offer.
 */
export function fieldMatcher(
  selector: string,
  kind: ServedKind,
): { readonly matches: Matcher; readonly name?: string } {
  const terms = selector
    .split(/(?<!\\),/)
    .filter((part) => part !== '')
    .map((part) => parseTerm(part));
  if (terms.length === 0) return { matches: everything };
  for (const term of terms) if (!offered(kind, term.name)) throw unknownField(kind, term.name);
  const name = terms.find((term) => term.name === 'metadata.name' && term.equal)?.value;
  const matches: Matcher = (object) =>
    terms.every((term) => (fieldText(object, term.name) === term.value) === term.equal);
  return { matches, ...(name === undefined ? {} : { name }) };
}

function parseTerm(part: string): FieldTerm {
  const found = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
  if (found === null) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
  const [, name = '', operator = '', value = ''] = found;
  return { name: name.trim(), value: value.trim().replace(/\\(.)/g, '$1'), equal: operator !== '!=' };
}

const always = ['metadata.name', 'metadata.namespace'];
const perKind: Readonly<Record<string, readonly string[]>> = {
  '/Pod': [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  '/Event': [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  'events.k8s.io/Event': ['reason', 'regarding.kind', 'regarding.name', 'regarding.namespace', 'regarding.uid', 'type'],
  '/Namespace': ['status.phase'],
  '/Node': ['spec.unschedulable'],
  '/Secret': ['type'],
  '/Service': ['spec.clusterIP', 'spec.type'],
  '/ReplicationController': ['status.replicas'],
  'apps/ReplicaSet': ['status.replicas'],
  'batch/Job': ['status.successful'],
};

function offered(kind: ServedKind, name: string): boolean {
  if (always.includes(name)) return true;
  return (perKind[kind.shelf] ?? []).includes(name) || (kind.selectable ?? []).includes(name);
}

function unknownField(kind: ServedKind, name: string): Error {
  if (kind.custom || perKind[kind.shelf] !== undefined) return badRequest(`field label not supported: ${name}`);
  return badRequest(`"${name}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}

function fieldText(object: KubeObject, name: string): string {
  if (name === 'metadata.name') return object.metadata.name ?? '';
  if (name === 'metadata.namespace') return object.metadata.namespace ?? '';
  const path = name === 'status.successful' ? ['status', 'succeeded'] : name.split('.');
  const source = name === 'source' ? own(asJson(object), 'source') : undefined;
  const value = source === undefined ? field(object, ...path) : at(source, 'component');
  if (value === undefined || value === null) return missingText(name);
  return typeof value === 'object' ? '' : String(value);
}

/** What Go's zero values look like as text. */
function missingText(name: string): string {
  if (name === 'spec.unschedulable' || name === 'spec.hostNetwork') return 'false';
  return name === 'status.replicas' || name === 'status.successful' ? '0' : '';
}
