import { OPTIMIZER_TOOLS } from '../../runtime/optimizer/definitions.ts';
import { tokensOf } from '../../runtime/optimizer/token-figures.ts';
import type { ToolIndex } from '../../runtime/optimizer/search/index.ts';
import type { ListEntry } from '../../runtime/catalog/index.ts';
import { median } from '../paths.ts';
import { offeredName, toolsOfServers } from './labelled.ts';
import { LIMIT, searchAll } from './quality.ts';

const tokensIn = (texts: readonly string[]): number => tokensOf(Buffer.byteLength(texts.join('')));

/** As a client is listed them. */
const entries = (): readonly ListEntry[] =>
  toolsOfServers().flatMap(({ server, tools }) =>
    tools.map((tool) => {
      const name = offeredName(server, tool.name);
      const target = { kind: 'backend', backend: server, ownName: Buffer.from(JSON.stringify(tool.name)) } as const;
      return { name, target, bytes: Buffer.from(JSON.stringify({ ...tool, name })) };
    }),
  );

/**
 * What a model reads for one task: all definitions, or the two of the optimizer, one question, the answer to it and the
 * envelope of `call_tool`. The arguments and the result of the tool itself are the same on both sides and left out.
 */
export const tokenTable = (index: ToolIndex): string => {
  const offered = entries();
  const definitions = new Map(offered.map(({ name, bytes }) => [name, bytes.toString()]));
  const whole = tokensIn([...definitions.values()]);
  const listed = tokensIn(OPTIMIZER_TOOLS.map(({ bytes, bytesFor }) => (bytesFor?.(offered) ?? bytes).toString()));
  const perTask = searchAll(index, 0).map(({ query: { text }, names }) => {
    const answer = `{"tools":[${names.map((name) => definitions.get(name)).join()}]}`;
    const question = JSON.stringify({ tool_description: text });
    const envelope = JSON.stringify({ tool_name: names[0] ?? '', parameters: '' });
    return tokensIn([question, answer, envelope]);
  });
  const found = median(perTask);
  const rows = [
    ['definitions that a client is listed', whole, listed],
    ['find_tool and its answer, and the envelope of call_tool, median', '', found],
    ['one task', whole, listed + found],
    ['ten tasks in one conversation', whole, listed + 10 * found],
  ] as const;
  return [
    `| tokens, ${definitions.size} tools, ${LIMIT} found at most | tools/list | find_tool + call_tool |`,
    '|---|---|---|',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n');
};
