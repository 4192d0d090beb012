import { VmcpError } from '../errors.ts';
import { paramValue, type Envelope } from './envelope.ts';

/** MCP 2026-07-28, `SubscriptionFilter`, and what the extension for tasks adds to it. */
export interface Filter {
  toolsListChanged?: true;
  promptsListChanged?: true;
  resourcesListChanged?: true;
  resourceSubscriptions?: readonly string[];
  taskIds?: readonly string[];
}

/** Resources that one stream may ask about, and tasks. */
const MAX_NAMES = 64;

/** The filter of a request to listen. Throws `invalid_request`. */
export const filterIn = (envelope: Envelope): Filter => {
  const notifications = paramValue(envelope, 'notifications');
  if (typeof notifications !== 'object' || notifications === null)
    throw new VmcpError('invalid_request', 'params.notifications is missing or not an object');
  const given = notifications as Readonly<Record<string, unknown>>;
  const filter: Filter = {};
  for (const key of ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const)
    if (given[key] === true) filter[key] = true;
  for (const key of ['resourceSubscriptions', 'taskIds'] as const) {
    const names = given[key];
    if (names === undefined) continue;
    if (!Array.isArray(names) || names.length > MAX_NAMES || !names.every((name) => typeof name === 'string'))
      throw new VmcpError('invalid_request', `params.notifications.${key} must be a list of up to ${MAX_NAMES} texts`);
    filter[key] = [...new Set<string>(names)];
  }
  return filter;
};
