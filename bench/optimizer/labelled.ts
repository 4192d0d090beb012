import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SearchableTool } from '../../runtime/optimizer/search/index.ts';

export const TOOLS_FILE = join(import.meta.dirname, 'tools.json');
const QUERIES_FILE = join(import.meta.dirname, 'queries.json');

/** What an MCP server of npm listed. */
export interface ToolsOfServer {
  readonly server: string;
  readonly package: string;
  readonly version: string;
  readonly license: string;
  readonly tools: readonly SearchableTool[];
}

/** What a user says, what a model writes into `find_tool` after it, and bare keywords. */
export const VOICES = ['user', 'model', 'keywords'] as const;
export type Voice = (typeof VOICES)[number];

/** A need, in three voices, and the tools any of which serves it, as `server/tool`. */
type Need = { readonly id: string; readonly tools: readonly string[] } & Readonly<Record<Voice, string>>;

export interface LabelledQuery {
  readonly id: string;
  readonly voice: Voice;
  readonly text: string;
  /** Names under which the tools are offered. */
  readonly answers: ReadonlySet<string>;
  /** In the third that the ranking was not tuned on. All voices of a need are on the same side. */
  readonly isHeldOut: boolean;
}

/** All servers' tools. */
export const toolsOfServers = (): readonly ToolsOfServer[] =>
  JSON.parse(readFileSync(TOOLS_FILE, 'utf8')) as readonly ToolsOfServer[];

/** Behind the prefix of the server, as by default. */
export const offeredName = (server: string, tool: string): string => `${server}_${tool}`;

/** The tools as a gateway offers them. */
export const offeredTools = (): readonly SearchableTool[] =>
  toolsOfServers().flatMap(({ server, tools }) =>
    tools.map((tool) => ({ ...tool, name: offeredName(server, tool.name), server })),
  );

export const labelledQueries = (): readonly LabelledQuery[] =>
  (JSON.parse(readFileSync(QUERIES_FILE, 'utf8')) as readonly Need[]).flatMap(({ id, tools, ...voices }) =>
    VOICES.map((voice) => ({
      id: `${id}/${voice}`,
      voice,
      text: voices[voice],
      answers: new Set(tools.map((tool) => tool.replace('/', '_'))),
      isHeldOut: thirdOf(id) === 0,
    })),
  );

const thirdOf = (id: string): number => createHash('sha256').update(id).digest().readUInt32BE(0) % 3;
