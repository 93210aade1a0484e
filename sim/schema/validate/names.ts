import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { FieldErrorReport } from './report.ts';
import { anyMember, forEachObject, listMember, objectMember, mapEntries, stringMember } from './read.ts';

/**
 * Syntax of names, labels and selectors (apimachinery: pkg/util/validation,
 * pkg/apis/meta/v1/validation).
 */

const labelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const labelRule = new RegExp(`^${labelPattern}$`);
const subdomainRule = new RegExp(`^${labelPattern}(\\.${labelPattern})*$`);
const qualifiedRule = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const alnumEnds = 'and must start and end with an alphanumeric character';
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  `${alnumEnds} (e.g. 'example.com', regex used for validation is '${labelPattern}(\\.${labelPattern})*')`;
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
  `${alnumEnds} (e.g. 'my-name',  or '123-abc', regex used for validation is '${labelPattern}')`;
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

export function validateLabels(report: FieldErrorReport, labels: JsonObject | undefined, path: string): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    for (const problem of qualifiedNameProblems(key)) report.invalid(path, key, problem);
    if (typeof value === 'string')
      for (const problem of labelValueProblems(value)) report.invalid(path, value, problem);
  }
}

export const annotationBytes = 256 * 1024;

export function validateAnnotations(report: FieldErrorReport, annotations: JsonObject | undefined, path: string): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    for (const problem of qualifiedNameProblems(key.toLowerCase())) report.invalid(path, key, problem);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(typeof value === 'string' ? value : '');
  }
  if (bytes > annotationBytes) report.tooLong(path, annotationBytes);
}

export function validateSelector(report: FieldErrorReport, selector: JsonObject | undefined, path: string): void {
  if (selector === undefined) return;
  validateLabels(report, objectMember(selector, 'matchLabels'), `${path}.matchLabels`);
  forEachObject(selector, 'matchExpressions', path, (expression, here) => {
    const operator = stringMember(expression, 'operator');
    const values = listMember(expression, 'values');
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        report.required(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        report.forbidden(`${here}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else report.invalid(`${here}.operator`, operator, 'not a valid selector operator');
    const key = stringMember(expression, 'key');
    for (const problem of qualifiedNameProblems(key)) report.invalid(`${here}.key`, key, problem);
  });
}

export function isEmptySelector(selector: JsonObject): boolean {
  return mapEntries(selector, 'matchLabels').length === 0 && listMember(selector, 'matchExpressions').length === 0;
}

/** True if a label selector matches these labels. */
export function selectorMatches(selector: JsonObject, labels: JsonObject): boolean {
  const exact = mapEntries(selector, 'matchLabels').every(([key, value]) => anyMember(labels, key) === value);
  return (
    exact &&
    listMember(selector, 'matchExpressions').every((item) => isObject(item) && requirementMatches(item, labels))
  );
}

function requirementMatches(expression: JsonObject, labels: JsonObject): boolean {
  const value: Json | undefined = anyMember(labels, stringMember(expression, 'key'));
  const values = listMember(expression, 'values');
  switch (stringMember(expression, 'operator')) {
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

/** Checks a number, if present: `must be greater than or equal to 0`. */
export function nonNegative(report: FieldErrorReport, value: number | undefined, path: string): void {
  if (value !== undefined && value < 0) report.invalid(path, value, 'must be greater than or equal to 0');
}

export function portNumber(report: FieldErrorReport, value: number | undefined, path: string): void {
  if (value !== undefined && (value < 1 || value > 65_535))
    report.invalid(path, value, 'must be between 1 and 65535, inclusive');
}
