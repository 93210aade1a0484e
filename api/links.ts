import { UsageError } from '#base';
import type { Link } from './types.ts';

/** Values of the placeholders of a template. Absent ones become empty. */
export interface LinkSubject {
  readonly namespace?: string;
  readonly application?: string;
  readonly cluster?: string;
  readonly server?: string;
}

export type LinkTemplate = (subject: LinkSubject) => Link;

const placeholders = ['namespace', 'application', 'cluster', 'server'] as const;
const maxLength = 2000;
const loneSurrogates = /\p{Surrogate}/gu;

/**
 * Parses the URL of a page with placeholders such as `{application}` in path, query or fragment.
 * Their values are encoded; a tenant chooses them, so none may change the host.
 * @throws UsageError that names the flag
 */
export function parseLinkTemplate(flag: string, name: string, template: string): LinkTemplate {
  const refuse = (reason: string): UsageError => new UsageError(`${flag}: ${reason}`);
  if (template.length > maxLength) throw refuse(`must have at most ${maxLength} characters`);
  const origin = /^https?:\/\/[^/?#]+/i.exec(template)?.[0];
  if (origin === undefined || !URL.canParse(template))
    throw refuse('must be an http or https URL such as https://grafana.example/d/driftless?var-app={application}');
  if (/[{}@\s]/.test(origin)) throw refuse('must have no placeholder, user or password before its path');
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].find(([, word]) => !isPlaceholder(word));
  if (unknown !== undefined)
    throw refuse(`${unknown[0]} is no placeholder; use ${placeholders.map((word) => `{${word}}`).join(', ')}`);
  return (subject) => ({
    name,
    url: template.replaceAll(/\{([^{}]*)\}/g, (text, word: string) =>
      isPlaceholder(word) ? encodeURIComponent((subject[word] ?? '').replaceAll(loneSurrogates, '\ufffd')) : text,
    ),
  });
}

function isPlaceholder(word: string | undefined): word is (typeof placeholders)[number] {
  return placeholders.some((known) => known === word);
}
