/** What is known of a text about a Secret besides its words. */
export interface ConfidentialAnswer {
  /** What it is, for the message: "this Secret". */
  readonly what: string;
  /** HTTP status of the answer, where there is one. */
  readonly status?: number;
  /** The reason in one word. Left out unless it is one of Kubernetes' own: a webhook may put anything there. */
  readonly reason?: string;
  readonly causes?: readonly { readonly field?: string; readonly reason?: string }[];
}

/**
 * What is shown of an API server's answer about an object whose values nobody may see, in the place of its words, which quote them: reason, paths of
 * fields, and sentences that hold names only. For `instead` of {@link outsideText}.
 */
export function aboutSecret(about: ConfidentialAnswer): (text: string) => string {
  return (text) => refusal(text, about);
}

/** What is shown of a script that has failed over such an object. */
export function scriptAboutSecret(): string {
  return 'what it says about this Secret is not shown, because it may hold values';
}

const name = '[A-Za-z0-9._:/@*-]{1,253}';

/** Whole sentences of API servers that hold names only. */
const sentences: readonly RegExp[] = [
  `${name} "${name}" (?:not found|already exists)`,
  `${name} "${name}" is forbidden: User "${name}" cannot [a-z]+ resource "${name}" in API group "(?:${name})?"(?: in the namespace "${name}"| at the cluster scope)?`,
  `${name} "${name}" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
  `${name} "${name}" is forbidden: exceeded quota: [A-Za-z0-9.-]{1,253}, requested: [a-z0-9./=,-]{1,300}, used: [a-z0-9./=,-]{1,300}, limited: [a-z0-9./=,-]{1,300}`,
  `${name} is forbidden: User "${name}" cannot [a-z]+ resource "${name}" in API group "(?:${name})?"(?: in the namespace "${name}"| at the cluster scope)?`,
  `Operation cannot be fulfilled on ${name} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
  `admission webhook "${name}" does not support dry run`,
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

/** Kubernetes' words for the reasons of its answers and of their causes. */
const reasons = new Set(
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

/** Where in a Secret: the fields that one has, and the names of its keys. */
const fieldPath =
  /^\.?(?:data|stringData|type|immutable|metadata|kind|apiVersion)(?:\.[A-Za-z0-9_-]{1,63}|\[[A-Za-z0-9 ._/-]{1,253}\]){0,4}$/;

function refusal(text: string, about: ConfidentialAnswer): string {
  const said = text.trim();
  if (said.length < 2000 && sentences.some((sentence) => sentence.test(said))) return said;
  const { status, reason = '' } = about;
  const details = [...(reasons.has(reason) ? [reason] : []), ...causesOf(about), ...placesIn(said)];
  const how = status === undefined ? '' : ` with HTTP ${status}`;
  const why = details.length === 0 ? '' : ` (${[...new Set(details)].join('; ')})`;
  const webhook = /^admission webhook "([A-Za-z0-9.-]{1,253})" denied the request/.exec(said)?.[1];
  const by = webhook === undefined ? 'the API server' : `the admission webhook ${webhook}`;
  return `${by} refuses ${about.what}${how}${why}; what it says is not shown, because it may hold values`;
}

function causesOf({ causes = [] }: ConfidentialAnswer): string[] {
  return causes.slice(0, 16).flatMap(({ field = '', reason = '' }) => {
    const word = causeReasons[reason];
    const where = fieldPath.test(field) ? field : undefined;
    if (where === undefined) return word === undefined ? [] : [word];
    return [word === undefined ? where : `${where}: ${word}`];
  });
}

/** Paths that an answer without causes has in its text: of a value of a wrong type, and of text that is no base64. */
const places: readonly RegExp[] = [
  /Go struct field Secret\.((?:data|stringData|metadata|type|immutable)(?:\.[A-Za-z]{1,40}){0,3}) of type/g,
  /(?:^|[\s(])(\.(?:data|stringData|metadata|type|immutable)(?:\.[A-Za-z0-9_-]{1,63}){0,3}): (?:expected|field not declared)/g,
];

function placesIn(text: string): string[] {
  const bounded = text.slice(0, 16_384);
  const found = places.flatMap((place) => [...bounded.matchAll(place)].slice(0, 8).map((match) => match[1] ?? ''));
  const base64 = /illegal base64 data at input byte \d+/.exec(bounded);
  return base64 === null ? found : [...found, 'data: illegal base64'];
}
