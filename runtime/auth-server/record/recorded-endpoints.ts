import { decodeJwt } from 'jose';
import type { Answer } from '../answer.ts';
import type { ClientEndpoints, ClientRequest } from '../routes.ts';
import type { RecordStep, Step } from './steps.ts';

/** The endpoints for clients, with a record of each registration, token request and revocation. */
export const recordedEndpoints = (endpoints: ClientEndpoints, record: RecordStep): ClientEndpoints => {
  const recorded =
    (answerTo: (request: ClientRequest) => Promise<Answer>, stepOf: StepOf) =>
    async (request: ClientRequest): Promise<Answer> => {
      const answer = await answerTo(request);
      const body = objectIn(answer.body);
      const outcome = outcomeOf(answer.status);
      await record({ outcome, source: request, ...stepOf(request, body, outcome), error: textIn(body, 'error') });
      return answer;
    };
  return {
    ...endpoints,
    register: recorded(endpoints.register, (_request, body) => ({
      type: 'oauth_register',
      clientId: textIn(body, 'client_id'),
      scope: textIn(body, 'scope'),
    })),
    token: recorded(endpoints.token, (request, body, outcome) => ({
      type: 'oauth_token',
      grantType: formOf(request).get('grant_type') ?? undefined,
      ...(outcome === 'success' ? issuedTo(body) : { clientId: claimedBy(request) }),
    })),
    revoke: recorded(endpoints.revoke, (request) => ({ type: 'oauth_revoke', clientId: claimedBy(request) })),
  };
};

type Body = Readonly<Record<string, unknown>>;

type StepOf = (request: ClientRequest, body: Body, outcome: Step['outcome']) => Pick<Step, 'type'> & Partial<Step>;

const outcomeOf = (status: number): Step['outcome'] => {
  if (status < 400) return 'success';
  if (status >= 500) return 'error';
  return status === 401 || status === 429 ? 'denied' : 'failure';
};

/** Who has got a token, as this server has written into it. */
const issuedTo = (body: Body): Partial<Step> => {
  const token = textIn(body, 'access_token');
  if (token === undefined) return {};
  const claims = decodeJwt(token);
  return { user: claims.sub, clientId: textIn(claims, 'client_id'), scope: textIn(claims, 'scope') };
};

const formOf = ({ body }: ClientRequest): URLSearchParams => new URLSearchParams(body.toString());

/** The id that a client has sent, which nothing has proven yet (RFC 6749 §2.3.1). */
const claimedBy = (request: ClientRequest): string | undefined => {
  const inForm = formOf(request).get('client_id');
  if (inForm !== null) return inForm;
  const basic = /^basic +(?<credentials>\S+)$/i.exec(request.authorization ?? '')?.groups?.['credentials'];
  const [id] = Buffer.from(basic ?? '', 'base64')
    .toString()
    .split(':', 1);
  return id === '' ? undefined : id;
};

const objectIn = (json: string): Body => {
  if (!json.startsWith('{')) return {};
  return JSON.parse(json) as Body;
};

const textIn = (body: Body, name: string): string | undefined => {
  const value = body[name];
  return typeof value === 'string' ? value : undefined;
};
