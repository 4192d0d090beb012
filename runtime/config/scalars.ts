import * as z from 'zod';
import { isNetwork } from './networks.ts';
import { rule, withRules } from './rules.ts';

/** Name of a provider of the embedded authorization server: docs/configuration.md "authServer" */
export const providerNameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, {
    error: 'not a provider name; use lower-case letters, digits and inner hyphens',
  });

/** A workload's name becomes part of tool names (docs/decisions.md "Names of tools"), so it keeps to their alphabet. */
export const workloadNameSchema = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$/, {
    error: 'not a workload name; use letters, digits and inner hyphens or underscores',
  });

/**
 * The part of an address that the API server checks: no credentials, no fragment, a host of characters that hosts have,
 * a port of digits.
 */
const AFTER_SCHEME = /(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?([/?][^#]*)?$/.source;

/**
 * Every accepted address must be parsable by `new URL`: only the parser itself recognizes ports above 65535 and broken
 * IPv4 and IPv6 addresses, so only the check of files finds those.
 */
const address = (scheme: string, error: string) =>
  z
    .string()
    .max(2048)
    .regex(new RegExp(`^${scheme}${AFTER_SCHEME}`), { error })
    .refine((text) => URL.canParse(text), { error, when: hasNoProblemYet });

/** One problem per address, not two. */
const hasNoProblemYet = (payload: z.core.ParsePayload): boolean => payload.issues.length === 0;

/** An address that starts with `http://` or `https://`, without credentials and fragment. */
export const httpUrlSchema = address(
  'https?://',
  'not an HTTP address; write http:// or https:// and a host, maybe with a port, without user, password and fragment',
);

/** An address that starts with `https://`, without credentials and fragment. */
export const httpsUrlSchema = address(
  'https://',
  'not an HTTPS address; write https:// and a host, maybe with a port, without user, password and fragment',
);

const HOST = /(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@[\]]+)/.source;
/** 1 to 65535. */
const PORT = /([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])/.source;

/** `host:port`. */
export const hostPortSchema = z
  .string()
  .max(262)
  .regex(new RegExp(`^${HOST}:${PORT}$`), { error: 'not host:port; write, for instance, store.example.com:6379' });

/** `host` or `host:port`; an IPv6 address needs brackets only where a port follows. */
export const hostMaybePortSchema = z
  .string()
  .min(1, { abort: true })
  .max(262)
  .regex(new RegExp(`^(${HOST}(:${PORT})?|[0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)$`), {
    error: 'not a host, maybe with a port; write, for instance, store.example.com:6379, without a scheme',
  });

const NETWORK = 'not an address or a CIDR block; write, for instance, 10.0.0.0/8 or 2001:db8::1';

/** An IP address, or a block of them (RFC 4632). */
export const networkSchema = z
  .string()
  .max(64)
  .regex(/^[0-9A-Fa-f:.]+(\/[0-9]{1,3})?$/, { error: NETWORK })
  .refine(isNetwork, { error: NETWORK, when: hasNoProblemYet });

export const stringMap = () => z.record(z.string(), z.string());

/** Decimal number as text, because resources must not hold floating-point numbers. docs/configuration.md "optimizer" */
export function decimal(max: number) {
  return withRules(
    z
      .string()
      .max(32)
      .regex(/^([0-9]*[.])?[0-9]+$/, { error: `not a decimal number in quotes; write, for instance, "${max / 2}"` }),
    rule({
      cel: `double(self) <= ${max.toFixed(1)}`,
      // A text that is no number is reported as a problem of its own.
      holds: (value) => !(Number(value) > max),
      reason: `must be between 0 and ${max}`,
      remedy: `write a number of at most ${max}`,
    }),
  );
}
