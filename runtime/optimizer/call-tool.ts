import type { Call, Dispatch, NewInnerCall, Reply } from '../call/index.ts';
import type { CallerCatalog } from '../catalog/index.ts';
import { VmcpError } from '../errors.ts';
import { clipped } from '../text.ts';
import { ArgumentError, callArguments } from './arguments.ts';
import { FIND_TOOL } from './definitions.ts';
import { entryNamed } from './find-tool.ts';
import type { IndexedTools } from './indexed-tools.ts';
import type { ToolIndex } from './search/index.ts';
import { failedResult, resultReply } from './tool-result.ts';

export interface CallToolDeps {
  readonly indexed: IndexedTools;
  readonly nearest: ToolIndex['nearest'];
  readonly offeredTo: (call: Call) => Promise<CallerCatalog>;
  readonly innerCall: NewInnerCall;
  readonly dispatch: Dispatch;
  readonly onUnknown: () => void;
}

/** Names offered in place of an unknown one. */
const MOST_NEAREST = 5;

/**
 * Answers `call_tool`: the client's call under the real name, with whatever a direct call has to pass. The answer is
 * the target's own, under the id of the client, and so are refusals; only a name that this caller is not offered is
 * told in words that a model can act on, the same for hidden and for unknown ones.
 */
export const callTool = async (call: Call, deps: CallToolDeps): Promise<Reply> => {
  const { id } = call.request;
  try {
    const { name, args } = callArguments(call);
    try {
      return await deps.dispatch(deps.innerCall(call, { name, args, origin: 'optimizer' }));
    } catch (error) {
      if (!isRefusedName(error)) throw error;
      const { all } = await deps.offeredTo(call);
      // The arguments, and not the name, were refused.
      if (entryNamed(all.tools, name)) throw error;
      deps.onUnknown();
      await deps.indexed.settled();
      const { names } = deps.nearest(name, await deps.indexed.selectionOf(all.tools), MOST_NEAREST);
      return resultReply(id, failedResult(unknownText(name, names), { 'vmcp.dev/error': { reason: error.code } }));
    }
  } catch (error) {
    if (error instanceof ArgumentError) return resultReply(id, failedResult(error.message));
    throw error;
  }
};

const isRefusedName = (error: unknown): error is VmcpError =>
  error instanceof VmcpError && (error.code === 'unknown_name' || error.code === 'forbidden');

const unknownText = (name: string, nearest: readonly string[]): string => {
  const like =
    nearest.length === 0 ? '' : ` The names most like it are: ${nearest.map((each) => clipped(each)).join(', ')}.`;
  return `tool not found: ${clipped(name)}.${like} Take a name that ${FIND_TOOL} gives.`;
};
