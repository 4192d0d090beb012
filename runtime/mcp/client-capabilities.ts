import { smallMember } from '../json/index.ts';

/** What a client must have declared to be asked something (MCP "Capability Negotiation"). */
const NEEDED: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
]);

/** The capability that answers requests of this method; undefined when none does. */
export const neededFor = (method: string): string | undefined => NEEDED.get(method);

/** `capabilities` and `params` are JSON texts. */
export const canAnswer = (capabilities: Buffer, method: string, params: Buffer | undefined): boolean => {
  const need = neededFor(method);
  if (need === undefined) return false;
  const declared = (JSON.parse(capabilities.toString()) as Record<string, unknown>)[need];
  if (typeof declared !== 'object' || declared === null) return false;
  return method !== 'elicitation/create' || takesMode(declared, modeOf(params));
};

const modeOf = (params: Buffer | undefined): unknown => (params && smallMember(params, 0, 'mode')) ?? 'form';

/** MCP 2025-11-25, "Elicitation": an empty object means forms only. */
const takesMode = (declared: object, mode: unknown): boolean =>
  mode === 'url' ? 'url' in declared : 'form' in declared || !('url' in declared);
