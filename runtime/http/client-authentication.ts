/**
 * Value of `Authorization` by which an OAuth client authenticates (`client_secret_basic`). RFC 6749 §2.3.1: id and
 * secret are form-encoded before they are joined.
 */
export const basicAuthorization = (clientId: string, secret: string): string =>
  `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64')}`;

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
