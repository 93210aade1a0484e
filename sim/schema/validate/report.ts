import { canonicalJson } from '#base';
import type { Json } from '#base';
import type { FieldError } from '../../types.ts';

/** Collects field errors in Kubernetes' words (apimachinery: pkg/util/validation/field). */
export class FieldErrorReport {
  readonly errors: FieldError[] = [];

  required(field: string, detail = ''): void {
    this.#add('FieldValueRequired', field, withDetail('Required value', detail));
  }

  invalid(field: string, value: Json | undefined, detail: string): void {
    this.#add('FieldValueInvalid', field, withDetail(`Invalid value: ${showValue(value)}`, detail));
  }

  /** Like `invalid`, with the value in the form of the server's internal type. */
  invalidText(field: string, value: string, detail: string): void {
    this.#add('FieldValueInvalid', field, withDetail(`Invalid value: ${value}`, detail));
  }

  typeInvalid(field: string, value: Json | undefined, detail: string): void {
    this.#add('FieldValueTypeInvalid', field, withDetail(`Invalid value: ${showValue(value)}`, detail));
  }

  /** Shows `supported` in the given order. */
  notSupported(field: string, value: Json | undefined, supported: readonly Json[]): void {
    this.notSupportedText(field, showValue(value), supported);
  }

  /** Like `notSupported`, with the value in the form of the server's internal type. */
  notSupportedText(field: string, value: string, supported: readonly Json[]): void {
    const list = supported.map((item) => showValue(item)).join(', ');
    this.#add('FieldValueNotSupported', field, `Unsupported value: ${value}: supported values: ${list}`);
  }

  forbidden(field: string, detail: string): void {
    this.#add('FieldValueForbidden', field, withDetail('Forbidden', detail));
  }

  duplicate(field: string, value: Json): void {
    this.duplicateText(field, showValue(value));
  }

  /** Like `duplicate`, with the value in the form of the server's internal type. */
  duplicateText(field: string, value: string): void {
    this.#add('FieldValueDuplicate', field, `Duplicate value: ${value}`);
  }

  notFound(field: string, value: Json): void {
    this.#add('FieldValueNotFound', field, `Not found: ${showValue(value)}`);
  }

  tooLong(field: string, bytes: number): void {
    this.#add('FieldValueTooLong', field, `Too long: may not be more than ${bytes} bytes`);
  }

  tooMany(field: string, actual: number, most: number): void {
    this.#add('FieldValueTooMany', field, `Too many: ${actual}: must have at most ${most} items`);
  }

  #add(type: FieldError['type'], field: string, message: string): void {
    this.errors.push({ type, field, message });
  }
}

function withDetail(head: string, detail: string): string {
  return detail === '' ? head : `${head}: ${detail}`;
}

function showValue(value: Json | undefined): string {
  return canonicalJson(value);
}
