import type { Answer } from '../answer.ts';
import { plainText } from '../plain-text.ts';
import { html } from './html.ts';
import { page } from './page.ts';

interface Failure {
  readonly status: number;
  readonly title: string;
  readonly whatToDo: string;
}

/** What can go wrong in front of a user, and what the user can do about it. */
const FAILURES = {
  'unknown-client': {
    status: 400,
    title: 'This application is not known here',
    whatToDo: 'Start again from the application. If that does not help, sign out of this server there first.',
  },
  'client-unavailable': {
    status: 503,
    title: 'The application cannot be checked at the moment',
    whatToDo: 'Try again in a minute, from the application.',
  },
  'redirect-uri': {
    status: 400,
    title: 'The application asked to be answered at an address that it has not registered',
    whatToDo: 'Nothing was sent there. Start again from the application; if that does not help, tell its maker.',
  },
  'invalid-request': {
    status: 400,
    title: 'The application sent a request that cannot be answered',
    whatToDo: 'Start again from the application; if that does not help, tell its maker.',
  },
  expired: {
    status: 400,
    title: 'This sign-in is over',
    whatToDo: 'It took too long, or was finished already. Start again from the application.',
  },
  'other-browser': {
    status: 400,
    title: 'This sign-in was started in another browser',
    whatToDo: 'Start again from the application, and stay in one browser with cookies allowed.',
  },
  'other-user': {
    status: 403,
    title: 'This link is for somebody else',
    whatToDo:
      'It leads to the accounts of the user who got it, and you are signed in here as another one. Nothing was changed. ' +
      'If it was sent to you, do not go on; if it is yours, sign out at your identity provider and open it again.',
  },
  'provider-refused': {
    status: 400,
    title: 'The identity provider has refused the sign-in',
    whatToDo: 'Start again from the application. If that does not help, ask the operator of this server.',
  },
  'provider-unavailable': {
    status: 503,
    title: 'The identity provider does not answer',
    whatToDo: 'Try again in a minute, from the application.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    whatToDo: 'Wait a minute, then start again from the application.',
  },
  unavailable: {
    status: 503,
    title: 'This server cannot sign you in at the moment',
    whatToDo: 'Try again in a minute, from the application.',
  },
  internal: {
    status: 500,
    title: 'Something went wrong on this server',
    whatToDo: 'Try again. If that does not help, tell the operator of this server the number below.',
  },
} as const satisfies Readonly<Record<string, Failure>>;

export type FailureKind = keyof typeof FAILURES;

export interface ErrorData {
  readonly kind: FailureKind;
  /** More about it, for whoever mends it; may hold texts of strangers, and no secret. */
  readonly detail?: string | undefined;
  /** By which the operator finds it in the log. */
  readonly correlationId: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Tells a user what has happened and what to do. */
export const errorPage = ({ kind, detail, correlationId, retryAfterSeconds }: ErrorData): Answer => {
  const { status, title, whatToDo } = FAILURES[kind];
  return page({
    status,
    title,
    retryAfterSeconds,
    body: html`<h1>${title}</h1>
      <p>${whatToDo}</p>
      ${
        detail === undefined
          ? undefined
          : html`<p>
              <small><bdi>${plainText(detail, 500)}</bdi></small>
            </p>`
      }
      <p>
        <small>Number of this error: <code>${plainText(correlationId, 100)}</code></small>
      </p>`,
  });
};
