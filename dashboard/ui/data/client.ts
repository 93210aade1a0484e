import { signInReason, token } from './storage.ts';
import { noteServerTime } from './time.ts';

/** An answer other than 200, or none. */
export class ApiProblem extends Error {
  /** HTTP status; 0: no answer. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Relative: a proxy may serve the page below a path of its own. */
const apiRoot = 'api/v1/';

/**
 * Sends a request with the token of this tab.
 * @throws ApiProblem
 */
export async function ask(
  path: string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const sent = token.value;
  let response: Response;
  try {
    response = await fetch(`${apiRoot}${path}`, {
      signal,
      cache: 'no-store',
      credentials: 'omit',
      headers: { ...headers, ...(sent === '' ? {} : { authorization: `Bearer ${sent}` }) },
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiProblem(0, 'The replica does not answer.');
  }
  if (response.ok) return response;
  const message = await messageIn(response);
  // A token that was replaced in the meantime says nothing about the new one.
  if (response.status === 401 && sent === token.value)
    signInReason.value = sent === '' ? 'Sign in to see your Applications.' : message;
  throw new ApiProblem(response.status, message);
}

export async function getPage<T extends { readonly time: string }>(path: string, signal: AbortSignal): Promise<T> {
  const response = await ask(path, signal);
  const page = (await response.json()) as T;
  noteServerTime(page.time);
  return page;
}

async function messageIn(response: Response): Promise<string> {
  try {
    const { message } = (await response.json()) as { readonly message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // No JSON: a proxy answered.
  }
  return `The answer has status ${response.status}.`;
}
