import { isObject, ownMember, parseJson } from '#base';
import type { Json } from '#base';
import type { SentSecret } from '#model';

/**
 * Reads name, keys and values of the Secret in a request. They tell what a refusal may repeat: the
 * response itself may come from a webhook that quotes values.
 */
export function sentSecretOf({ path, body }: { readonly path: string; readonly body?: string }): SentSecret {
  const sent = parsedBody(body);
  const members = ['data', 'stringData'].flatMap((field) => entriesOf(sent, field));
  return {
    name: nameInPath(path) ?? nameIn(sent),
    keys: new Set(members.map(([key]) => key)),
    values: members.flatMap(([, value]) => (typeof value === 'string' ? formsOf(value) : [])),
  };
}

function parsedBody(body: string | undefined): Json {
  try {
    return body === undefined ? null : parseJson(body);
  } catch {
    return null;
  }
}

function entriesOf(sent: Json, field: string): readonly (readonly [string, Json | undefined])[] {
  const members = isObject(sent) ? ownMember(sent, field) : undefined;
  return isObject(members) ? Object.entries(members) : [];
}

function nameIn(sent: Json): string {
  const metadata = isObject(sent) ? ownMember(sent, 'metadata') : undefined;
  const name = isObject(metadata) ? (ownMember(metadata, 'name') ?? ownMember(metadata, 'generateName')) : undefined;
  return typeof name === 'string' ? name : '';
}

function nameInPath(path: string): string | undefined {
  const found = /^\/api\/v1\/namespaces\/[^/]+\/secrets\/([^/?]+)/.exec(path)?.[1];
  return found === undefined ? undefined : decodeURIComponent(found);
}

/** A value as it was sent, its decoded bytes, and its base64. */
function formsOf(value: string): readonly string[] {
  const forms = [value, Buffer.from(value, 'base64').toString('utf8'), Buffer.from(value).toString('base64')];
  return forms.flatMap((form) => [form, form.replace(/=+$/, '')]).filter((form) => form !== '');
}
