import { canonicalJson } from '#base';
import type { Json } from '#base';
import type { FieldError } from '../../types.ts';

/** Collects field errors in Kubernetes' words (apimachinery: pkg/util/validation/field). */
export class Report {
  readonly errors: FieldError[] = [];

  required(field: string, detail = ''): void {
    this.#add('FieldValueRequired', field, withDetail('Required value', detail));
  }

  invalid(field: string, value: Json | undefined, detail: string): void {
    this.#add('FieldValueInvalid', field, withDetail(`Invalid value: ${show(value)}`, detail));
  }

  /** The same with the value as the server's own type prints it. */
  invalidText(field: string, value: string, detail: string): void {
    this.#add('FieldValueInvalid', field, withDetail(`Invalid value: ${value}`, detail));
  }

  typeInvalid(field: string, value: Json | undefined, detail: string): void {
    this.#add('FieldValueTypeInvalid', field, withDetail(`Invalid value: ${show(value)}`, detail));
  }

  /** `supported` is shown in the order given. */
  notSupported(field: string, value: Json | undefined, supported: readonly Json[]): void {
    this.notSupportedText(field, show(value), supported);
  }

  /** The same with the value as the server's own type prints it. */
  notSupportedText(field: string, value: string, supported: readonly Json[]): void {
    const list = supported.map((item) => show(item)).join(', ');
    this.#add('FieldValueNotSupported', field, `Unsupported value: ${value}: supported values: ${list}`);
  }

  forbidden(field: string, detail: string): void {
    this.#add('FieldValueForbidden', field, withDetail('Forbidden', detail));
  }

  duplicate(field: string, value: Json): void {
    this.#add('FieldValueDuplicate', field, `Duplicate value: ${show(value)}`);
  }

  notFound(field: string, value: Json): void {
    this.#add('FieldValueNotFound', field, `Not found: ${show(value)}`);
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

function show(value: Json | undefined): string {
  return canonicalJson(value);
}
