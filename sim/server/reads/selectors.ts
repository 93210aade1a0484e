import { valueAt, ownMember } from '#base';
import type { KubeObject } from '#model';
import { asJsonObject, fieldAt } from '../fields.ts';
import type { ServedKind } from '../discovery/registry.ts';
import { badRequestError } from '../status.ts';

export type ObjectMatcher = (object: KubeObject) => boolean;

const matchEverything: ObjectMatcher = () => true;

type LabelOperator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/**
 * The matcher of a label selector in text form: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`,
 * `a`, `!a`, `a>1`, `a<1`, joined by commas (apimachinery: pkg/labels/selector.go).
 * @throws SimError 400
 */
export function labelMatcher(selector: string): ObjectMatcher {
  const requirements = parseLabels(selector);
  if (requirements.length === 0) return matchEverything;
  return (object) => {
    const labels = asJsonObject(object.metadata)['labels'] ?? {};
    return requirements.every((requirement) => {
      const value = valueAt(labels, requirement.key);
      return satisfiesRequirement(requirement, typeof value === 'string' ? value : undefined);
    });
  };
}

function satisfiesRequirement(requirement: LabelRequirement, value: string | undefined): boolean {
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
const requirementShapes: readonly { readonly operator: LabelOperator | undefined; readonly shape: RegExp }[] = [
  { operator: '!', shape: new RegExp(`^!\\s*(${labelKey})$`) },
  { operator: 'notin', shape: new RegExp(`^(${labelKey})\\s+notin\\s*\\(([^()]*)\\)$`) },
  { operator: 'in', shape: new RegExp(`^(${labelKey})\\s+in\\s*\\(([^()]*)\\)$`) },
  { operator: '!=', shape: new RegExp(`^(${labelKey})\\s*!=\\s*(${labelValue})$`) },
  { operator: '=', shape: new RegExp(`^(${labelKey})\\s*==?\\s*(${labelValue})$`) },
  { operator: '>', shape: new RegExp(`^(${labelKey})\\s*>\\s*(-?[0-9]+)$`) },
  { operator: '<', shape: new RegExp(`^(${labelKey})\\s*<\\s*(-?[0-9]+)$`) },
  { operator: 'exists', shape: new RegExp(`^(${labelKey})$`) },
];

function parseLabels(selector: string): readonly LabelRequirement[] {
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

function parseRequirement(part: string): LabelRequirement {
  for (const { operator, shape } of requirementShapes) {
    const found = shape.exec(part);
    if (found === null || operator === undefined) continue;
    const [, key = '', rest] = found;
    const many = operator === 'in' || operator === 'notin';
    const values = rest === undefined ? [] : many ? rest.split(',').map((value) => value.trim()) : [rest];
    const valid = new RegExp(`^${labelValue}$`);
    if (!many || values.every((value) => valid.test(value))) return { key, operator, values };
  }
  throw badRequestError(
    `unable to parse requirement: found '${part}', expected: a label selector such as a=b, a!=b, a in (b,c), a or !a`,
  );
}

interface FieldTerm {
  readonly name: string;
  readonly value: string;
  readonly equal: boolean;
}

/**
 * The matcher of a field selector (`metadata.name=x,status.phase!=Running`), and the name if the
 * selector fixes it.
 * @throws SimError 400 for a field that is not selectable in this kind.
 */
export function fieldMatcher(
  selector: string,
  kind: ServedKind,
): { readonly matches: ObjectMatcher; readonly name?: string } {
  const terms = selector
    .split(/(?<!\\),/)
    .filter((part) => part !== '')
    .map((part) => parseTerm(part));
  if (terms.length === 0) return { matches: matchEverything };
  for (const term of terms) if (!isSelectable(kind, term.name)) throw unknownField(kind, term.name);
  const name = terms.find((term) => term.name === 'metadata.name' && term.equal)?.value;
  const matches: ObjectMatcher = (object) =>
    terms.every((term) => (fieldText(object, term.name) === term.value) === term.equal);
  return { matches, ...(name === undefined ? {} : { name }) };
}

function parseTerm(part: string): FieldTerm {
  const found = /^(.*?)(!=|==|=)(.*)$/s.exec(part);
  if (found === null) throw badRequestError(`invalid selector: '${part}'; can't understand '${part}'`);
  const [, name = '', operator = '', value = ''] = found;
  return { name: name.trim(), value: value.trim().replace(/\\(.)/g, '$1'), equal: operator !== '!=' };
}

const commonFields = ['metadata.name', 'metadata.namespace'];
const selectableFields: Readonly<Record<string, readonly string[]>> = {
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

function isSelectable(kind: ServedKind, name: string): boolean {
  if (commonFields.includes(name)) return true;
  return (selectableFields[kind.groupKind] ?? []).includes(name) || (kind.selectable ?? []).includes(name);
}

function unknownField(kind: ServedKind, name: string): Error {
  if (kind.custom || selectableFields[kind.groupKind] !== undefined)
    return badRequestError(`field label not supported: ${name}`);
  return badRequestError(`"${name}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}

function fieldText(object: KubeObject, name: string): string {
  if (name === 'metadata.name') return object.metadata.name ?? '';
  if (name === 'metadata.namespace') return object.metadata.namespace ?? '';
  const path = name === 'status.successful' ? ['status', 'succeeded'] : name.split('.');
  const source = name === 'source' ? ownMember(asJsonObject(object), 'source') : undefined;
  const value = source === undefined ? fieldAt(object, ...path) : valueAt(source, 'component');
  if (value === undefined || value === null) return missingText(name);
  return typeof value === 'object' ? '' : String(value);
}

/** The text of Go's zero values. */
function missingText(name: string): string {
  if (name === 'spec.unschedulable' || name === 'spec.hostNetwork') return 'false';
  return name === 'status.replicas' || name === 'status.successful' ? '0' : '';
}
