import { plainText } from '../plain-text.ts';
import { type Html, html } from './html.ts';
import { name } from './names.ts';

/** A user's account at an upstream provider, as it is shown. */
export interface ShownAccount {
  /** Name of the provider in the configuration. */
  readonly provider: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** `github — Ada (ada@example.com)`, as far as it is known. */
export const accountInWords = ({ provider, name: person, email }: ShownAccount): Html => {
  const [of, mail] = [shownOr(person), shownOr(email)];
  if (!of) return mail ? html`${name(provider)} — ${mail}` : name(provider);
  return mail ? html`${name(provider)} — ${of} (${mail})` : html`${name(provider)} — ${of}`;
};

const shownOr = (text: string | undefined): Html | undefined =>
  text === undefined || plainText(text, 1) === '' ? undefined : name(text);
