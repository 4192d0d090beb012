import type { RelayedRequest } from './call.ts';
import { memberAt } from '../json/index.ts';

/** JSON text of `params.arguments`; undefined where there are none. */
export const argumentsOf = ({ bytes, params }: RelayedRequest): Buffer | undefined => {
  const span = params && memberAt(bytes, params.start, 'arguments');
  return span && bytes.subarray(span.start, span.end);
};
