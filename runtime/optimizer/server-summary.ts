import type { ListEntry } from '../catalog/index.ts';
import { clipped, compareText } from '../text.ts';

const MOST_SERVERS = 40;
const MOST_NAMES = 4;
const LONGEST_NAME = 48;
const LONGEST_SUMMARY = 4_000;

/**
 * What there is to be found, for a model that has not seen any of it: a line for each server, with the number of its
 * tools and the names of a few; of those that this caller is offered, and nothing of others. Empty without tools.
 */
export const serverSummary = (offered: readonly ListEntry[]): string => {
  const byServer = new Map<string, string[]>();
  for (const { name, target } of offered) {
    if (target.kind === 'builtin') continue;
    const server = serverOf(target);
    const names = byServer.get(server);
    if (names) names.push(name);
    else byServer.set(server, [name]);
  }
  if (byServer.size === 0) return '';
  const lines = [...byServer].toSorted(([a], [b]) => compareText(a, b)).map(lineOf);
  const shown = withinLength(lines.slice(0, MOST_SERVERS));
  const left = lines.length - shown.length;
  const more = left > 0 ? [`- and ${left} more ${left === 1 ? 'server' : 'servers'}`] : [];
  return `\n\nServers and their tools:\n${[...shown, ...more].join('\n')}`;
};

/** The server of a tool, as clients name it; tools of several steps belong to no backend. */
export const serverOf = (target: ListEntry['target']): string =>
  target.kind === 'backend' ? target.backend : COMPOSITE;

const COMPOSITE = '(composite tools)';

const lineOf = ([server, names]: readonly [string, readonly string[]]): string => {
  const some = names.slice(0, MOST_NAMES).map((name) => clipped(onOneLine(name), LONGEST_NAME));
  const rest = names.length > some.length ? ', …' : '';
  return `- ${server} (${names.length}): ${some.join(', ')}${rest}`;
};

/** Names come from backends: one that has a line break would look like another server. */
const onOneLine = (name: string): string => name.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');

const withinLength = (lines: readonly string[]): readonly string[] => {
  let length = 0;
  return lines.filter((line) => (length += line.length + 1) <= LONGEST_SUMMARY);
};
