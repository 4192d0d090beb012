import {
  type Call,
  type CallClient,
  type Caller,
  type Dispatch,
  type NewInnerCall,
  type Reply,
  UNVERIFIED_ISSUER,
} from '../call/index.ts';
import type { CallerCatalog, StepTool } from '../catalog/index.ts';
import { VmcpError } from '../errors.ts';
import { isObject, isText, smallMember, withoutMembers, replacedMember } from '../json/index.ts';
import { LIMITS } from '../limits.ts';
import { supportsTasks, TASKS_EXTENSION } from '../mcp/index.ts';
import type { ByteBudget } from '../process/index.ts';
import { Share } from '../process/index.ts';
import type { Expand } from './expansion.ts';
import { StepFailure } from './failure.ts';
import { Slots } from './slots.ts';
import type { StepContext } from './step.ts';
import { type ToolResult, toolResultIn } from './tool-result.ts';
import { typeOfArguments } from './tool-schemas.ts';

/** How often a workflow may lead to another one, at whichever gateways: docs/composite-tools.md "Loops". */
const MAX_HOPS = 8;
const HOPS = 'vmcp.dev/hops';

export interface StepCallsDeps {
  readonly call: Call;
  readonly dispatch: Dispatch;
  readonly innerCall: NewInnerCall;
  /** As in `OwnToolDeps`. */
  readonly currentCaller: (caller: Caller) => Caller;
  /** What the caller is offered at this moment. */
  readonly offered: () => CallerCatalog | Promise<CallerCatalog>;
  readonly expand: Expand;
  /** Called before a tool asks the client, where that may be by a task; throws where it may not. */
  readonly onAsk?: (() => void) | undefined;
  /** For the results of all workflows. */
  readonly bytes: ByteBudget;
}

export interface StepCalls {
  /** `of`: what the calls of the step are inner calls of (`AroundStep`). */
  readonly callTool: (of: Call, ...call: Parameters<StepContext['callTool']>) => ReturnType<StepContext['callTool']>;
  /** Gives back the room of the results. */
  readonly end: () => void;
}

/** The calls of one workflow, for its caller. Throws `invalid_params` where workflows lead to each other for ever. */
export const stepCalls = (deps: StepCallsDeps): StepCalls => {
  const { call, dispatch, innerCall, currentCaller, offered, expand, bytes, onAsk } = deps;
  const meta = Buffer.from(JSON.stringify({ [HOPS]: nextHop(call) }));
  const slots = new Slots(LIMITS.callsPerWorkflow);
  const share = new Share(bytes);
  const clientWith = withoutTasks(call.client);
  let taken = 0;
  let isOver = false;
  const take = (size: number): void => {
    // An answer that comes after the end keeps nothing, and nothing would give its room back.
    if (isOver) return;
    taken += size;
    if (taken > LIMITS.workflowBytes) throw tooLarge('results', LIMITS.workflowBytes);
    if (!share.grow(size))
      throw new VmcpError('busy', 'the results of all workflows take too much room; try again later');
  };
  let given = 0;
  const give = (size: number): void => {
    given += size;
    if (given > LIMITS.workflowArgumentBytes) throw tooLarge('arguments', LIMITS.workflowArgumentBytes);
  };
  return {
    callTool: async (of, { reference, args, data }, signal) => {
      const tool = await toolOf(reference, offered);
      return slots.run(signal, async () => {
        // Calls that wait for a slot hold no text.
        const text = args.expand(expand, data, typeOfArguments(tool.target));
        give(text.length);
        const inner = innerCall(of, { name: tool.name, args: text, origin: 'workflow', meta });
        // A token that has ended since the workflow began is good for no further call.
        const caller = isVerified(of.caller) ? currentCaller(of.caller) : of.caller;
        const asked = noted(onAsk);
        const reply = await dispatch({ ...inner, caller, signal, client: clientWith(asked.onAsk) });
        if (reply.kind === 'whole') take(reply.body?.length ?? 0);
        return resultOf(reply, asked.refusal());
      });
    },
    end: () => {
      isOver = true;
      share.release();
    },
  };
};

type OnAsk = StepCallsDeps['onAsk'];

/** `onAsk` of one call, and the error with which the last question of its tool was refused. */
const noted = (onAsk: OnAsk): { readonly onAsk: OnAsk; readonly refusal: () => VmcpError | undefined } => {
  let refusal: VmcpError | undefined;
  const ask = (): void => {
    try {
      onAsk?.();
    } catch (error) {
      if (error instanceof VmcpError) refusal = error;
      throw error;
    }
  };
  return { onAsk: onAsk && ask, refusal: () => refusal };
};

/** A tool whose question was refused often says of it only that it had no answer. */
const resultOf = (reply: Reply, refusal: VmcpError | undefined): ToolResult => {
  if (!refusal) return toolResultIn(reply);
  try {
    return toolResultIn(reply);
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    throw new StepFailure(`${error.message} (${refusal.message})`, { isFinal: true });
  }
};

/** False: this process has not verified the token; the backend that gets it decides. */
const isVerified = (caller: Caller): boolean => caller.kind === 'user' && caller.issuer !== UNVERIFIED_ISSUER;

const toolOf = async (reference: string, offered: StepCallsDeps['offered']): Promise<StepTool> => {
  const tool = (await offered()).stepTool(reference);
  if (tool) return tool;
  // Its name may be one that the client is not to know: docs/aggregation.md "Hiding tools".
  throw new StepFailure('its tool is not there any more', { isFinal: true });
};

const tooLarge = (what: 'arguments' | 'results', most: number): StepFailure =>
  new StepFailure(`the ${what} of its steps together are larger than ${most / 1024 / 1024} MiB`, { isFinal: true });

const nextHop = ({ request: { bytes, meta } }: Call): number => {
  const told = meta && isObject(bytes, meta.start) ? smallMember(bytes, meta.start, HOPS) : undefined;
  const hops = typeof told === 'number' && told > 0 ? Math.ceil(told) : 0;
  if (hops < MAX_HOPS) return hops + 1;
  throw new VmcpError(
    'invalid_params',
    `workflows lead to each other more than ${MAX_HOPS} times: a tool leads to itself`,
  );
};

/** The client of each call. A step waits for its result: a backend must not answer it with a task. */
const withoutTasks = (client: CallClient): ((onAsk: OnAsk) => CallClient) => {
  if (!supportsTasks(client.capabilities)) return () => client;
  const capabilities = replacedMember(client.capabilities, 'extensions', (extensions) =>
    withoutMembers(extensions, (bytes, keyAt) => isText(bytes, keyAt, TASKS_EXTENSION)),
  );
  return (onAsk) => ({
    era: client.era,
    capabilities,
    get logLevel() {
      return client.logLevel;
    },
    notify: (notification) => client.notify(notification),
    backlog: () => client.backlog(),
    ask: async (question, signal) => {
      onAsk?.();
      return client.ask(question, signal);
    },
  });
};
