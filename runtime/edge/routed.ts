import type { Call, RoutedMethod } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { isObject, isString, readObject, readString, skipValue, type Span } from '../json/index.ts';
import { MAX_MEMBERS, type Envelope } from './envelope.ts';

/** The name in a request that goes to a backend, and the span of that name. */
export interface Routed {
  readonly method: RoutedMethod;
  readonly names: Call['names'];
  readonly name: string;
  readonly target: Span;
}

type Naming = (envelope: Envelope) => Pick<Routed, 'names' | 'target'>;

const byName =
  (names: Call['names']): Naming =>
  ({ name }) => {
    if (!name) throw new VmcpError('invalid_params', 'params.name is missing or not a string');
    return { names, target: name };
  };

const byUri: Naming = ({ uri }) => {
  if (!uri) throw new VmcpError('invalid_params', 'params.uri is missing or not a string');
  return { names: 'resource', target: uri };
};

/** MCP "Completion": `ref` is a prompt's name or the URI (template) of a resource. */
const byReference: Naming = ({ body, ref }) => {
  const { type, name, uri } = ref ? readReference(body, ref) : {};
  if (type === 'ref/prompt' && name) return { names: 'prompt', target: name };
  if (type === 'ref/resource' && uri) return { names: 'resource', target: uri };
  throw new VmcpError('invalid_params', 'params.ref is neither a ref/prompt with a name nor a ref/resource with a uri');
};

const byTaskId: Naming = ({ taskId }) => {
  if (!taskId) throw new VmcpError('invalid_params', 'params.taskId is missing or not a string');
  return { names: 'task', target: taskId };
};

interface Route {
  readonly naming: Naming;
  /** The only era that has the method; absent: both have. */
  readonly only?: EraName;
}

type EraName = Call['client']['era'];

const ROUTES: Readonly<Record<RoutedMethod, Route>> = {
  'tools/call': { naming: byName('tool') },
  'prompts/get': { naming: byName('prompt') },
  'resources/read': { naming: byUri },
  // In 2026-07-28 a client subscribes with `subscriptions/listen`.
  'resources/subscribe': { naming: byUri, only: 'legacy' },
  'resources/unsubscribe': { naming: byUri, only: 'legacy' },
  'completion/complete': { naming: byReference },
  // The tasks of 2025-11-25 differ and are not relayed.
  'tasks/get': { naming: byTaskId, only: 'modern' },
  'tasks/update': { naming: byTaskId, only: 'modern' },
  'tasks/cancel': { naming: byTaskId, only: 'modern' },
};

const isRouted = (method: string): method is RoutedMethod => Object.hasOwn(ROUTES, method);

/** Undefined for methods that do not go to a backend in this era. Throws `invalid_params` when a name is missing. */
export const routed = (envelope: Envelope, era: EraName): Routed | undefined => {
  const { method, body } = envelope;
  if (!isRouted(method)) return undefined;
  const { naming, only = era } = ROUTES[method];
  if (only !== era) return undefined;
  const { names, target } = naming(envelope);
  return { method, names, target, name: readString(body, target) };
};

interface Reference {
  type?: string;
  name?: Span;
  uri?: Span;
}

/** Keys in another case, or given twice, are refused: a backend might read the other one. */
const readReference = (body: Buffer, ref: Span): Reference => {
  const read: Reference = {};
  const seen = new Set<string>();
  if (!isObject(body, ref.start)) return read;
  let members = 0;
  readObject(body, ref.start, (key, start) => {
    members += 1;
    if (members > MAX_MEMBERS) throw new VmcpError('not_json_rpc', `"params.ref" has more than ${MAX_MEMBERS} members`);
    const span = { start, end: skipValue(body, start) };
    const folded = key.toUpperCase().toLowerCase();
    if (folded !== 'type' && folded !== 'name' && folded !== 'uri') return span.end;
    if (key !== folded || seen.has(key))
      throw new VmcpError('not_json_rpc', `"params.ref.${folded}" is given twice or spelt in another case`);
    seen.add(key);
    if (!isString(body, span)) return span.end;
    if (key === 'type') read.type = readString(body, span);
    else if (key === 'name') read.name = span;
    else read.uri = span;
    return span.end;
  });
  return read;
};
