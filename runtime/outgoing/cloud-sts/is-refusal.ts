import { objectIn } from '../../json/index.ts';
import type { BackendResponse } from '../fetch.ts';
import { elementAt, readXml } from './xml.ts';

/** Codes for credentials that have ended, or were revoked (AWS "Common Errors"). */
const ENDED = new Set(['ExpiredToken', 'ExpiredTokenException', 'InvalidClientTokenId', 'UnrecognizedClientException']);
/** An error of the platform is a code and a sentence. */
const MAX_BYTES = 4_096;

/**
 * Whether a backend has refused the credentials of a role, and not executed the request. 403 also says that the role
 * may not do this, for which other credentials of it would be of no use. What a tool has written is no refusal,
 * whatever it says: a call whose tool was refused elsewhere has been executed, and must not be sent again.
 */
export const isRefusal = ({ status, headers, body }: BackendResponse): boolean => {
  if (status !== 403) return status === 401;
  const header = headers['x-amzn-errortype'];
  if (typeof header === 'string') return ENDED.has(codeIn(header));
  if (body.length > MAX_BYTES) return false;
  const text = body.toString().trim();
  const code = text.startsWith('<') ? codeOfXml(text) : codeOfJson(text);
  return code !== undefined && ENDED.has(codeIn(code));
};

/** `com.example#Code:http://…/` is `Code`: namespace and address are of the protocol "AWS JSON". */
const codeIn = (text: string): string => (text.split(':')[0]?.split('#').at(-1) ?? '').trim();

const codeOfXml = (text: string): string | undefined => {
  const root = readXml(text);
  return root?.name === 'ErrorResponse' ? elementAt(root, ['Error', 'Code'])?.text : undefined;
};

/** Undefined for anything but an error document of the platform, JSON-RPC included. */
const codeOfJson = (text: string): string | undefined => {
  const document = objectIn(text);
  if (!document || Object.hasOwn(document, 'jsonrpc')) return undefined;
  const { __type: type, code = document['Code'] } = document;
  const found = type ?? code;
  return typeof found === 'string' ? found : undefined;
};
