import { DriftlessError, isObject } from '#base';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import { keyOf } from '#model';
import type { KubeObject } from '#model';
import { changedWriter } from '#sync';
import type { ApplyResult, ClusterWriter } from '#sync';
import type { CapturedCall } from '../recorder/capture.ts';
import { listOf, RecordingError, textOf } from './read-recording.ts';
import type { RecordedValues } from './read-recording.ts';

interface RecordedCall {
  readonly method: string;
  readonly key: string;
  readonly answer: JsonObject;
  isUsed: boolean;
}

/** Answers the calls of a step from the recording; a call that it does not have fails. */
export function recordedWriter(writer: ClusterWriter, inputs: JsonObject, values: RecordedValues): ClusterWriter {
  const calls = listOf(inputs, 'calls').map((call): RecordedCall => {
    if (!isObject(call) || !isObject(call['answer'])) throw new RecordingError('a call has no answer');
    return { method: textOf(call, 'method'), key: textOf(call, 'key'), answer: call['answer'], isUsed: false };
  });
  const answerTo = (method: CapturedCall['method'], object: KubeObject): JsonObject => {
    const key = keyOf(object);
    const call = calls.find((one) => !one.isUsed && one.method === method && one.key === key);
    if (call === undefined) throw new DriftlessError('NOT_RECORDED', `the recording has no ${method} of ${key}`);
    call.isUsed = true;
    const { error } = call.answer;
    if (isObject(error)) throw errorFrom(error);
    return call.answer;
  };
  const objectIn = (answer: JsonObject): KubeObject => values.object(answer['object']);
  const written = (answer: JsonObject): ApplyResult => ({
    object: objectIn(answer),
    message: textOf(answer, 'message'),
  });
  const answering =
    <T>(method: CapturedCall['method'], read: (answer: JsonObject) => T) =>
    (object: KubeObject): Promise<T> =>
      Promise.resolve().then(() => read(answerTo(method, object)));
  return changedWriter(writer, {
    get: answering('get', (answer) => (answer['object'] === null ? null : objectIn(answer))),
    apply: answering('apply', written),
    create: answering('create', written),
    delete: answering('delete', (answer) => (answer['deletion'] === 'changed' ? 'changed' : 'accepted')),
    patchMetadata: answering('patchMetadata', objectIn),
  });
}

function errorFrom(error: JsonObject): Error {
  const [code, message] = [textOf(error, 'code'), textOf(error, 'message')];
  const { status, reason } = error;
  if (typeof status !== 'number') return new DriftlessError(code, message);
  return new KubeApiError({ code: status, reason: typeof reason === 'string' ? reason : '', message }, 'recorded');
}
