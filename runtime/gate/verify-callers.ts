import { type Caller, callerKey, type OpenFor } from '../call/index.ts';
import { atMost, type Clock } from '../process/index.ts';
import type { Gate } from './gate.ts';

export interface VerifyCallersDeps {
  readonly verifyAgain: Required<Gate>['verifyAgain'];
  readonly clock: Clock;
  readonly onEnded: (ended: OpenFor) => void;
  /** Yet another authentication is in force: what is found out is worth nothing any more. */
  readonly isOvertaken: () => boolean;
}

/** Tokens that are verified at one time, as each may be a question to its issuer. */
const AT_ONCE = 32;
/** Time for one token, and for all of them together. */
const TOKEN_MS = 10_000;
const TOGETHER_MS = 30_000;

/**
 * Verifies the callers by the authentication in force, each token once, and ends what is open for those that it does
 * not know. A token that cannot be verified in time counts as unknown. Once it is overtaken it does nothing any more.
 * Never rejects.
 */
export const verifyCallers = async (open: readonly OpenFor[], deps: VerifyCallersDeps): Promise<void> => {
  const waiting = [...Map.groupBy(open, ({ caller }) => tokenOf(caller)).values()];
  const deadline = deps.clock.now() + TOGETHER_MS;
  const verifyWaiting = async (): Promise<void> => {
    for (let ofToken = waiting.pop(); ofToken && !deps.isOvertaken(); ofToken = waiting.pop())
      await verify(ofToken, deadline, deps);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, verifyWaiting));
};

/** One token may be of two users: of one before `claimMapping` has changed, of the other since. */
const tokenOf = (caller: Caller): string =>
  caller.kind === 'user' ? `${callerKey(caller)} ${caller.token}` : caller.kind;

const verify = async (open: readonly OpenFor[], deadline: number, deps: VerifyCallersDeps): Promise<void> => {
  const [first] = open;
  const caller = first && (await verified(first.caller, deadline, deps));
  if (deps.isOvertaken()) return;
  for (const each of open)
    if (caller) each.keep(caller);
    else if (each.end('unknown')) deps.onEnded(each);
};

const verified = async (
  caller: Caller,
  deadline: number,
  { verifyAgain, clock }: VerifyCallersDeps,
): Promise<Caller | undefined> => {
  const timeMs = Math.min(TOKEN_MS, deadline - clock.now());
  if (timeMs <= 0) return undefined;
  try {
    const known = verifyAgain(caller);
    if (!(known instanceof Promise)) return known;
    return (await atMost(clock, timeMs, known)) ? await known : undefined;
  } catch {
    return undefined;
  }
};
