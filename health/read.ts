import { DriftlessError, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { gvkOf } from '#model';
import type { HealthStatus, HealthStatusCode, KubeObject } from '#model';

/** A health check could not read the object. The message becomes that of the Unknown status. */
export class HealthCheckError extends DriftlessError {
  constructor(message: string) {
    super('HEALTH_CHECK', message, { retry: 'never' });
  }
}

/**
 * Reads fields as Go's conversion into a typed struct does: absent and null are the zero value; any
 * other type is an error that ends the check (Argo CD: runtime.DefaultUnstructuredConverter).
 */
export class TypedFields {
  readonly #value: JsonObject;
  readonly #kind: string;

  constructor(value: JsonObject, kind: string) {
    this.#value = value;
    this.#kind = kind;
  }

  has(name: string): boolean {
    const value = ownMember(this.#value, name);
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

  fields(name: string): TypedFields {
    const value = this.#member(name);
    if (value === undefined) return new TypedFields({}, this.#kind);
    return isObject(value) ? new TypedFields(value, this.#kind) : this.#wrong(name, 'an object');
  }

  list(name: string): readonly TypedFields[] {
    const value = this.#member(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) return this.#wrong(name, 'a list');
    return (value as readonly Json[]).map((item) => {
      if (item === null) return new TypedFields({}, this.#kind);
      return isObject(item) ? new TypedFields(item, this.#kind) : this.#wrong(name, 'a list of objects');
    });
  }

  #member(name: string): Json | undefined {
    return ownMember(this.#value, name) ?? undefined;
  }

  #wrong(name: string, expected: string): never {
    throw new HealthCheckError(
      `failed to convert unstructured ${this.#kind} to typed: the field "${name}" is not ${expected}`,
    );
  }
}

/** The whole object as typed fields. */
export function fieldsOf(object: KubeObject): TypedFields {
  return new TypedFields(object as unknown as JsonObject, nameInErrors(object.kind));
}

/** Reads a field without Go's type errors: undefined if a parent is no object. */
export function untypedField(object: KubeObject, ...path: readonly string[]): Json | undefined {
  let value: Json | undefined = object as unknown as JsonObject;
  for (const name of path) value = isObject(value) ? ownMember(value, name) : undefined;
  return value;
}

function nameInErrors(kind: string): string {
  return kind === 'HorizontalPodAutoscaler' ? 'HPA' : kind;
}

/**
 * Argo CD reads these kinds into Go structs of certain versions; any other version is Unknown
 * (gitops-engine/pkg/health: "unsupported ... GVK").
 */
export function requireVersion(object: KubeObject, ...versions: readonly string[]): void {
  const { group, version, kind } = gvkOf(object);
  if (!versions.includes(version))
    throw new HealthCheckError(`unsupported ${nameInErrors(kind)} GVK: ${group}/${version}, Kind=${kind}`);
}

/** A health status; without the message if it is empty. */
export function withMessage(status: HealthStatusCode, message: string): HealthStatus {
  return message === '' ? { status } : { status, message };
}
