import { networksOf } from './networks.ts';

const isLoopback = networksOf(['127.0.0.0/8', '::1']);

/** Whether the address has no TLS, and is not on this machine by its name. */
export const isPlainBeyondLoopback = (text: string): boolean => {
  const { protocol, hostname } = new URL(text);
  const host = hostname.replace(/^\[|\]$/g, '');
  return protocol === 'http:' && !isLoopback(host) && host !== 'localhost' && !host.endsWith('.localhost');
};
