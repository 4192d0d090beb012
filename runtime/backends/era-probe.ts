import { VmcpError } from '../errors.ts';
import { smallMember } from '../json-members.ts';
import type { BackendResponse, Fetch } from '../outgoing/index.ts';
import { isModernError, MODERN_REVISION } from '../revisions.ts';
import { deadline, patiently } from './patience.ts';
import type { Clock } from '../clock.ts';
import { capabilitiesOf, isUndecided, type BackendCapabilities } from './handshake.ts';
import { MODERN_HEADERS } from './modern-link.ts';
import { ownMeta } from './request-edits.ts';
import { unusable } from './session-answer.ts';
import { isAnswerTo, readServerMessage } from './server-message.ts';

export type ProbedEra =
  | { readonly era: 'modern'; readonly capabilities: BackendCapabilities }
  | { readonly era: 'legacy' }
  /** The backend is not able to say at the moment; what it is must be asked again. */
  | { readonly era: 'undecided' };

export interface ProbeSettings {
  readonly backend: string;
  readonly path: string;
  /** JSON text. */
  readonly clientInfo: string;
}

/** Who looks for the answer, and for how long. */
export interface ProbeBounds {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly silenceMs: number;
  /** Its abort reason becomes the error. */
  readonly signal: AbortSignal;
}

const ID = Buffer.from('"vmcp-discover"');

/** Asks `server/discover`, which every server of 2026-07-28 knows. Throws `backend_unreachable` when there is no connection. */
export const probeEra = async (settings: ProbeSettings, bounds: ProbeBounds): Promise<ProbedEra> => {
  try {
    return eraOf(await ask(settings, bounds));
  } catch (error) {
    if (error instanceof VmcpError && error.code === 'backend_unreachable') throw error;
    return { era: 'undecided' };
  }
};

/** What a backend that was found to be of 2026-07-28 says now. Throws VmcpError when it is not well. */
export const checkModern = async (
  settings: ProbeSettings,
  bounds: ProbeBounds,
): Promise<Exclude<ProbedEra, { era: 'undecided' }>> => {
  const response = await ask(settings, bounds);
  const probed = eraOf(response);
  if (probed.era === 'undecided') throw unusable(settings.backend, response.status);
  return probed;
};

const ask = (settings: ProbeSettings, { clock, fetch, silenceMs, signal }: ProbeBounds): Promise<BackendResponse> =>
  patiently(clock, {
    backend: settings.backend,
    silenceMs,
    signal,
    work: (attention) =>
      fetch({
        method: 'POST',
        path: settings.path,
        headers: [...MODERN_HEADERS, 'mcp-method', 'server/discover'],
        body: discover(settings),
        attention: deadline(attention),
        onMessage: (bytes) => (isAnswerTo(bytes, ID) ? 'answer' : 'other'),
      }),
  });

const discover = ({ clientInfo }: ProbeSettings): Buffer =>
  Buffer.from(
    `{"jsonrpc":"2.0","id":${ID.toString()},"method":"server/discover","params":{"_meta":${ownMeta(clientInfo)}}}`,
  );

const eraOf = ({ status, body }: BackendResponse): ProbedEra => {
  const message = readServerMessage(body);
  if (message?.kind === 'error' && isModernError(body.subarray(message.error.start, message.error.end)))
    return modernWith(undefined);
  if (isUndecided(status)) return { era: 'undecided' };
  if (message?.kind !== 'response') return { era: 'legacy' };
  const { start } = message.result;
  const supported = smallMember(body, start, 'supportedVersions');
  const versions: readonly unknown[] = Array.isArray(supported) ? supported : [];
  return versions.includes(MODERN_REVISION) ? modernWith(smallMember(body, start, 'capabilities')) : { era: 'legacy' };
};

const modernWith = (capabilities: unknown): ProbedEra => ({
  era: 'modern',
  capabilities: capabilitiesOf(capabilities),
});
