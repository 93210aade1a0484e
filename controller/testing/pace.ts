import type { CheckedCall } from '#kube';
import type { WriterDeps } from '../write/writer.ts';

/** A pace without limits. */
export const unpaced: WriterDeps['pace'] = {
  write: (signal, send) => {
    signal.throwIfAborted();
    return send();
  },
  read: (work) => work,
  during: (work) => work,
};

/** A call that nothing checks. */
export function uncheckedCall(signal: AbortSignal): CheckedCall {
  return { signal, beforeSend: () => undefined };
}
