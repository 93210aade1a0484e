import { DriftlessError, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import { gvkOf } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';

/** A health check could not read the object; its text becomes the message of the Unknown status. */
export class HealthCheckError extends DriftlessError {
  constructor(message: string) {
    super('HEALTH_CHECK', message, { retry: 'never' });
  }
}

/**
 * Reads fields the way Go's conversion into a typed struct does: absent and null are the zero value, any other type is an error
 * that ends the check (Argo CD: runtime.DefaultUnstructuredConverter).
 */
export class Fields {
  readonly #value: JsonObject;
  readonly #kind: string;

  constructor(value: JsonObject, kind: string) {
    this.#value = value;
    this.#kind = kind;
  }

  has(name: string): boolean {
    const value = own(this.#value, name);
    return value !== undefined && value !== null;
  }

  int(name: string): number {
    const value = this.#member(name);
    if (value === undefined) return 0;
    if (typeof value === 'bigint') return Number(value);
    return typeof value === 'number' && Number.isInteger(value) ? value : this.#wrong(name, 'a whole number');
  }

  text(name: string): string {
    const value = this.#member(name);
    if (value === undefined) return '';
    return typeof value === 'string' ? value : this.#wrong(name, 'a string');
  }

  flag(name: string): boolean {
    const value = this.#member(name);
    if (value === undefined) return false;
    return typeof value === 'boolean' ? value : this.#wrong(name, 'true or false');
  }

  fields(name: string): Fields {
    const value = this.#member(name);
    if (value === undefined) return new Fields({}, this.#kind);
    return isObject(value) ? new Fields(value, this.#kind) : this.#wrong(name, 'an object');
  }

  list(name: string): readonly Fields[] {
    const value = this.#member(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) return this.#wrong(name, 'a list');
    return (value as readonly Json[]).map((item) => {
      if (item === null) return new Fields({}, this.#kind);
      return isObject(item) ? new Fields(item, this.#kind) : this.#wrong(name, 'a list of objects');
    });
  }

  #member(name: string): Json | undefined {
    return own(this.#value, name) ?? undefined;
  }

  #wrong(name: string, expected: string): never {
    throw new HealthCheckError(
      `failed to convert unstructured ${this.#kind} to typed: the field "${name}" is not ${expected}`,
    );
  }
}

/** The whole object as typed fields. */
export function fieldsOf(object: KubeObject): Fields {
  return new Fields(object as unknown as JsonObject, object.kind);
}

/**
 * Argo CD reads these kinds through Go structs of certain versions only; another version is Unknown, not guessed
 * (gitops-engine/pkg/health: "unsupported ... GVK").
 */
export function requireVersion(object: KubeObject, ...versions: readonly string[]): void {
  const { group, version, kind } = gvkOf(object);
  if (!versions.includes(version))
    throw new HealthCheckError(`unsupported ${kind} GVK: ${group}/${version}, Kind=${kind}`);
}

/** A health status; an empty message is left out. */
export function withMessage(status: HealthStatusCode, message: string): HealthStatus {
  return message === '' ? { status } : { status, message };
}
