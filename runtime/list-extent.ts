import type { Config } from './config/index.ts';
import type { ListingClient } from './edge/index.ts';

/** The header by which a client says whether it wants the optimizer. */
const HEADER = 'vmcp-optimizer';

/**
 * Whether a client is listed all tools although there is an optimizer (docs/optimizer.md "Clients that search by
 * themselves"). The header of a request counts more than the name of its client.
 */
export const listExtentFor = (
  { name, headers }: ListingClient,
  { optimizer, extensions }: Pick<Config, 'optimizer' | 'extensions'>,
): 'whole' | undefined => {
  if (!optimizer) return undefined;
  const { [HEADER]: wish } = headers;
  if (wish === 'off') return 'whole';
  if (wish === 'on') return undefined;
  return name !== undefined && extensions.optimizer.exceptClients.includes(name) ? 'whole' : undefined;
};
