import type { Target } from '../call/index.ts';
import type { VmcpError } from '../errors.ts';

/** What look-up says of a name. */
export interface Found {
  /** Known as well where policies hide it. */
  readonly target: Target | undefined;
  /** Why it is refused. */
  readonly refusal: VmcpError | undefined;
}
