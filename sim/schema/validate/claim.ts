import type { Json, JsonObject } from '#base';
import { formatQuantity, parseQuantity } from '../quantity.ts';
import { subdomainProblems } from './names.ts';
import { anyMember, listMember, objectMember, quantityText } from './read.ts';
import type { FieldErrorReport } from './report.ts';

/** Validates the spec of a PersistentVolumeClaim, or of the template of one. */
export function validateClaimSpec(report: FieldErrorReport, spec: JsonObject, path: string): void {
  if (listMember(spec, 'accessModes').length === 0)
    report.required(`${path}.accessModes`, 'at least 1 access mode is required');
  const size = storageRequest(spec);
  if (size === undefined) report.required(`${path}.resources[storage]`);
  else requirePositive(report, size, `${path}.resources[storage]`);
  const name = anyMember(spec, 'storageClassName');
  if (typeof name === 'string' && name !== '')
    for (const problem of subdomainProblems(name)) report.invalid(`${path}.storageClassName`, name, problem);
}

export function storageRequest(spec: JsonObject): Json | undefined {
  return anyMember(objectMember(objectMember(spec, 'resources'), 'requests'), 'storage');
}

export function requirePositive(report: FieldErrorReport, amount: Json, path: string): void {
  const parsed = parseQuantity(quantityText(amount));
  if (typeof parsed === 'object' && parsed.nanos <= 0n)
    report.invalid(path, formatQuantity(parsed), 'must be greater than zero');
}
