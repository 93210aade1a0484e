import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { Report } from './report.ts';
import { get, each, list, obj, pairs, str } from './read.ts';

/** Syntax of names, labels and selectors (apimachinery: pkg/util/validation, pkg/apis/meta/v1/validation). */

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const labelRule = new RegExp(`^${label}$`);
const subdomainRule = new RegExp(`^${label}(\\.${label})*$`);
const qualifiedRule = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const alnumEnds = 'and must start and end with an alphanumeric character';
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  `${alnumEnds} (e.g. 'example.com', regex used for validation is '${label}(\\.${label})*')`;
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  `${alnumEnds} (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
const nameChars = "must consist of alphanumeric characters, '-', '_' or '.', ";
const nameExample =
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

export function subdomainProblems(value: string): string[] {
  const problems = value.length > 253 ? ['must be no more than 253 characters'] : [];
  return subdomainRule.test(value) ? problems : [...problems, subdomainText];
}

export function labelNameProblems(value: string): string[] {
  const problems = value.length > 63 ? ['must be no more than 63 characters'] : [];
  return labelRule.test(value) ? problems : [...problems, labelText];
}

export function qualifiedNameProblems(value: string): string[] {
  const parts = value.split('/');
  if (parts.length > 2)
    return [
      `a qualified name ${nameChars}${alnumEnds} ${nameExample} with an optional DNS subdomain prefix and '/' ` +
        "(e.g. 'example.com/MyName')",
    ];
  const problems: string[] = [];
  const prefix = parts.length === 2 ? (parts[0] ?? '') : undefined;
  const name = parts.at(-1) ?? '';
  if (prefix === '') problems.push('prefix part must be non-empty');
  else if (prefix !== undefined) problems.push(...subdomainProblems(prefix).map((text) => `prefix part ${text}`));
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 characters');
  if (!qualifiedRule.test(name)) problems.push(`name part ${nameChars}${alnumEnds} ${nameExample}`);
  return problems;
}

export function labelValueProblems(value: string): string[] {
  const problems = value.length > 63 ? ['must be no more than 63 characters'] : [];
  if (value === '' || qualifiedRule.test(value)) return problems;
  return [
    ...problems,
    `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${alnumEnds} ` +
      "(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ];
}

/** A port's or endpoint's name: IANA_SVC_NAME. */
export function portNameProblems(value: string): string[] {
  const problems: string[] = [];
  if (value.length > 15) problems.push('must be no more than 15 characters');
  if (!/^[-a-z0-9]+$/.test(value))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

export function validateLabels(report: Report, labels: JsonObject | undefined, path: string): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    for (const problem of qualifiedNameProblems(key)) report.invalid(path, key, problem);
    if (typeof value === 'string')
      for (const problem of labelValueProblems(value)) report.invalid(path, value, problem);
  }
}

export const annotationBytes = 256 * 1024;

export function validateAnnotations(report: Report, annotations: JsonObject | undefined, path: string): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    for (const problem of qualifiedNameProblems(key.toLowerCase())) report.invalid(path, key, problem);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(typeof value === 'string' ? value : '');
  }
  if (bytes > annotationBytes) report.tooLong(path, annotationBytes);
}

export function validateSelector(report: Report, selector: JsonObject | undefined, path: string): void {
  if (selector === undefined) return;
  validateLabels(report, obj(selector, 'matchLabels'), `${path}.matchLabels`);
  each(selector, 'matchExpressions', path, (expression, here) => {
    const operator = str(expression, 'operator');
    const values = list(expression, 'values');
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        report.required(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        report.forbidden(`${here}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else report.invalid(`${here}.operator`, operator, 'not a valid selector operator');
    const key = str(expression, 'key');
    for (const problem of qualifiedNameProblems(key)) report.invalid(`${here}.key`, key, problem);
  });
}

export function isEmptySelector(selector: JsonObject): boolean {
  return pairs(selector, 'matchLabels').length === 0 && list(selector, 'matchExpressions').length === 0;
}

/** Whether a label selector chooses an object with these labels. */
export function selects(selector: JsonObject, labels: JsonObject): boolean {
  const exact = pairs(selector, 'matchLabels').every(([key, value]) => get(labels, key) === value);
  return exact && list(selector, 'matchExpressions').every((item) => isObject(item) && meets(item, labels));
}

function meets(expression: JsonObject, labels: JsonObject): boolean {
  const value: Json | undefined = get(labels, str(expression, 'key'));
  const values = list(expression, 'values');
  switch (str(expression, 'operator')) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

/** `must be greater than or equal to 0`, for a number that is there. */
export function nonNegative(report: Report, value: number | undefined, path: string): void {
  if (value !== undefined && value < 0) report.invalid(path, value, 'must be greater than or equal to 0');
}

export function portNumber(report: Report, value: number | undefined, path: string): void {
  if (value !== undefined && (value < 1 || value > 65_535))
    report.invalid(path, value, 'must be between 1 and 65535, inclusive');
}
