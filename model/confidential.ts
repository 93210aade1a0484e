/** The facts about a text on a Secret that are safe to show. */
export interface ConfidentialAnswer {
  /** Names the object in the message: "this Secret". */
  readonly what: string;
  /** HTTP status of the response, if there is one. */
  readonly status?: number;
  /** Kubernetes' reason in one word. Other words are dropped: a webhook may send anything. */
  readonly reason?: string;
  readonly causes?: readonly { readonly field?: string; readonly reason?: string }[];
}

/**
 * Replaces an API server's message about a confidential object, which may quote its values: keeps
 * reason, field paths, and known sentences that contain names only. For `instead` of {@link
 * outsideText}.
 */
export function aboutSecret(about: ConfidentialAnswer): (text: string) => string {
  return (text) => refusalMessage(text, about);
}

/** Replaces the message of a script that failed on a confidential object. */
export function scriptAboutSecret(): string {
  return 'the message about this Secret is hidden because it may contain its values';
}

const namePattern = '[A-Za-z0-9._:/@*-]{1,253}';

/** Complete messages of API servers that contain names only. */
const nameOnlyMessages: readonly RegExp[] = [
  `${namePattern} "${namePattern}" (?:not found|already exists)`,
  `${namePattern} "${namePattern}" is forbidden: User "${namePattern}" cannot [a-z]+ resource "${namePattern}" in API group "(?:${namePattern})?"(?: in the namespace "${namePattern}"| at the cluster scope)?`,
  `${namePattern} "${namePattern}" is forbidden: unable to create new content in namespace ${namePattern} because it is being terminated`,
  `${namePattern} "${namePattern}" is forbidden: exceeded quota: [A-Za-z0-9.-]{1,253}, requested: [a-z0-9./=,-]{1,300}, used: [a-z0-9./=,-]{1,300}, limited: [a-z0-9./=,-]{1,300}`,
  `${namePattern} is forbidden: User "${namePattern}" cannot [a-z]+ resource "${namePattern}" in API group "(?:${namePattern})?"(?: in the namespace "${namePattern}"| at the cluster scope)?`,
  `Operation cannot be fulfilled on ${namePattern} "${namePattern}": the object has been modified; please apply your changes to the latest version and try again`,
  `admission webhook "${namePattern}" does not support dry run`,
  'Unauthorized',
  'the server could not find the requested resource',
  'the server is currently unable to handle the request',
  'the server has received too many requests and has asked us to try again later',
  'Too many requests, please try again later.',
  'etcdserver: [a-z ]{1,60}',
  'The resourceVersion for the provided (?:list|watch) is too old.',
  'too old resource version: [0-9]+ \\([0-9]+\\)',
  'Too large resource version: [0-9]+, current: [0-9]+',
].map((sentence) => new RegExp(`^${sentence}$`));

/** Kubernetes' reasons of responses and of their causes. */
const statusReasons = new Set(
  `Unauthorized Forbidden NotFound AlreadyExists Conflict Gone Invalid ServerTimeout Timeout TooManyRequests BadRequest MethodNotAllowed NotAcceptable
   RequestEntityTooLarge UnsupportedMediaType InternalError Expired ServiceUnavailable StoreReadError`.split(/\s+/),
);
const causeReasons: Readonly<Record<string, string>> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid type',
  InternalError: 'Internal error',
  FieldManagerConflict: 'Conflict',
};

/** Field paths in a Secret: its known fields and the names of its keys. */
const fieldPath =
  /^\.?(?:data|stringData|type|immutable|metadata|kind|apiVersion)(?:\.[A-Za-z0-9_-]{1,63}|\[[A-Za-z0-9 ._/-]{1,253}\]){0,4}$/;

function refusalMessage(text: string, about: ConfidentialAnswer): string {
  const message = text.trim();
  if (message.length < 2000 && nameOnlyMessages.some((sentence) => sentence.test(message))) return message;
  const { status, reason = '' } = about;
  const details = [...(statusReasons.has(reason) ? [reason] : []), ...causeTexts(about), ...fieldPathsIn(message)];
  const how = status === undefined ? '' : ` with HTTP ${status}`;
  const why = details.length === 0 ? '' : ` (${[...new Set(details)].join('; ')})`;
  const webhook = /^admission webhook "([A-Za-z0-9.-]{1,253})" denied the request/.exec(message)?.[1];
  const by = webhook === undefined ? 'the API server' : `the admission webhook ${webhook}`;
  return `${by} refuses ${about.what}${how}${why}; the message is hidden because it may contain values`;
}

function causeTexts({ causes = [] }: ConfidentialAnswer): string[] {
  return causes.slice(0, 16).flatMap(({ field = '', reason = '' }) => {
    const word = causeReasons[reason];
    const where = fieldPath.test(field) ? field : undefined;
    if (where === undefined) return word === undefined ? [] : [word];
    return [word === undefined ? where : `${where}: ${word}`];
  });
}

/** Field paths in messages without causes: values of a wrong type, and invalid base64. */
const fieldPathPatterns: readonly RegExp[] = [
  /Go struct field Secret\.((?:data|stringData|metadata|type|immutable)(?:\.[A-Za-z]{1,40}){0,3}) of type/g,
  /(?:^|[\s(])(\.(?:data|stringData|metadata|type|immutable)(?:\.[A-Za-z0-9_-]{1,63}){0,3}): (?:expected|field not declared)/g,
];

function fieldPathsIn(text: string): string[] {
  const bounded = text.slice(0, 16_384);
  const found = fieldPathPatterns.flatMap((place) =>
    [...bounded.matchAll(place)].slice(0, 8).map((match) => match[1] ?? ''),
  );
  const base64 = /illegal base64 data at input byte \d+/.exec(bounded);
  return base64 === null ? found : [...found, 'data: illegal base64'];
}
