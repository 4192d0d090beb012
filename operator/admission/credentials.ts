import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type CertificateAndKey, newAuthority, newServerCertificate } from './x509.ts';

/** Certificates that all replicas of the operator share: authorities, newest first, and the server certificate. */
export interface Credentials {
  readonly authorities: readonly CertificateAndKey[];
  readonly server: CertificateAndKey;
}

/** How long the webhook's certificates are valid, in milliseconds. */
export interface Lifetimes {
  readonly authorityMs: number;
  readonly serverMs: number;
  /** After this time every API server trusts a new authority, and every replica serves a new certificate. */
  readonly propagationMs: number;
}

const day = 86_400_000;

/** An authority for a year, a serving certificate for 90 days; five minutes for both to be known everywhere. */
export const LIFETIMES: Lifetimes = { authorityMs: 365 * day, serverMs: 90 * day, propagationMs: 300_000 };

/** What decides whether certificates have to be renewed. */
export interface RenewalInput {
  /** What the API server connects to. */
  readonly hosts: readonly string[];
  /** PEM of the authorities that the API server trusts at this moment. */
  readonly trusted: string;
  readonly nowMs: number;
  readonly lifetimes: Lifetimes;
}

/**
 * The credentials to use; the same value when they need no renewal. An authority is replaced in three steps, so that
 * the served certificate is always trusted: the new authority is trusted beside the old one, then it signs the served
 * certificate, then the old one is removed.
 */
export const renewed = (held: Credentials | undefined, circumstances: RenewalInput): Credentials => {
  const authorities = authoritiesFor(held, circumstances);
  const issuer = selectIssuer(authorities, circumstances);
  const server = held && isGood(held.server, issuer, circumstances) ? held.server : serverOf(issuer, circumstances);
  const needed = withoutRetired(authorities, { issuer, server }, circumstances);
  const isSame = held !== undefined && server === held.server && needed.length === held.authorities.length;
  return isSame && needed.every((each, index) => each === held.authorities[index])
    ? held
    : { authorities: needed, server };
};

/** Adds a new authority. The others are removed in time, since their keys may have been disclosed. */
export const withNewAuthority = (held: Credentials, circumstances: RenewalInput): Credentials => ({
  ...held,
  authorities: [authorityOf(circumstances), ...held.authorities],
});

/** PEM of all authorities: what the API server shall trust. */
export const bundleOf = ({ authorities }: Credentials): string =>
  authorities.map(({ certificate }) => certificate).join('');

const authoritiesFor = (held: Credentials | undefined, circumstances: RenewalInput): readonly CertificateAndKey[] => {
  const { nowMs, lifetimes } = circumstances;
  const valid = (held?.authorities ?? []).filter((each) => endOf(each) > nowMs);
  const [newest] = valid;
  const isGoodEnough = newest !== undefined && !isDue(newest, lifetimes.authorityMs, nowMs);
  return isGoodEnough ? valid : [authorityOf(circumstances), ...valid];
};

const authorityOf = ({ nowMs, lifetimes: { authorityMs } }: RenewalInput): CertificateAndKey =>
  newAuthority(`vmcp-operator-${nowMs}`, validity(nowMs, nowMs + authorityMs));

/** The newest authority that every API server trusts by now; while there is none, the oldest one. */
const selectIssuer = (authorities: readonly CertificateAndKey[], circumstances: RenewalInput): CertificateAndKey => {
  const { trusted, nowMs, lifetimes } = circumstances;
  const settled = authorities.find(
    (each) => trusted.includes(each.certificate.trim()) && ageOf(each, nowMs) >= lifetimes.propagationMs,
  );
  const issuer = settled ?? authorities.at(-1);
  if (issuer === undefined) throw new Error('there is no authority');
  return issuer;
};

const isGood = (
  server: CertificateAndKey,
  issuer: CertificateAndKey,
  { hosts, nowMs, lifetimes }: RenewalInput,
): boolean => {
  const certificate = new X509Certificate(server.certificate);
  return (
    certificate.checkIssued(new X509Certificate(issuer.certificate)) &&
    hosts.every((host) => isFor(certificate, host)) &&
    !isDue(server, lifetimes.serverMs, nowMs)
  );
};

/** As the API server sees it: the name of the subject is not one of a host. */
const isFor = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !== undefined;

const serverOf = (issuer: CertificateAndKey, { hosts, nowMs, lifetimes }: RenewalInput): CertificateAndKey => {
  const end = Math.min(nowMs + lifetimes.serverMs, endOf(issuer));
  return newServerCertificate(hosts, validity(nowMs, end), issuer);
};

/** Authorities from before the one whose certificate every replica has served for a while. */
const withoutRetired = (
  authorities: readonly CertificateAndKey[],
  { issuer, server }: { readonly issuer: CertificateAndKey; readonly server: CertificateAndKey },
  { nowMs, lifetimes }: RenewalInput,
): readonly CertificateAndKey[] =>
  ageOf(server, nowMs) < lifetimes.propagationMs ? authorities : authorities.slice(0, authorities.indexOf(issuer) + 1);

/** Clocks differ: what is made now is valid a while ago already. */
const BACKDATED_MS = 3_600_000;

const validity = (fromMs: number, toMs: number) => ({ fromMs: fromMs - BACKDATED_MS, toMs });

const ageOf = ({ certificate }: CertificateAndKey, nowMs: number): number =>
  nowMs - new X509Certificate(certificate).validFromDate.getTime() - BACKDATED_MS;

const endOf = ({ certificate }: CertificateAndKey): number => new X509Certificate(certificate).validToDate.getTime();

/** In the last third of its life. */
const isDue = (certified: CertificateAndKey, lifetimeMs: number, nowMs: number): boolean =>
  endOf(certified) - nowMs < lifetimeMs / 3;
