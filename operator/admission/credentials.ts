import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type Certified, newAuthority, newServerCertificate } from './x509.ts';

/** What the replicas of an operator share: authorities, newest first, and the certificate that all of them serve. */
export interface Credentials {
  readonly authorities: readonly Certified[];
  readonly server: Certified;
}

export interface Lifetimes {
  readonly authorityMs: number;
  readonly serverMs: number;
  /** By then every API server trusts a new authority, and every replica serves a new certificate. */
  readonly settledMs: number;
}

const day = 86_400_000;

export const LIFETIMES: Lifetimes = { authorityMs: 365 * day, serverMs: 90 * day, settledMs: 300_000 };

/** Under which circumstances the credentials have to do. */
export interface Circumstances {
  /** What the API server connects to. */
  readonly hosts: readonly string[];
  /** PEM of the authorities that the API server trusts at this moment. */
  readonly trusted: string;
  readonly nowMs: number;
  readonly lifetimes: Lifetimes;
}

/**
 * The credentials that should be used; the same value when they are good as they are. An authority is replaced in three
 * steps, so that at every moment what is served is trusted: the new one is trusted beside the old, then it signs what
 * is served, then the old one is forgotten.
 */
export const renewed = (held: Credentials | undefined, circumstances: Circumstances): Credentials => {
  const authorities = authoritiesFor(held, circumstances);
  const issuer = issuerAmong(authorities, circumstances);
  const server = held && isGood(held.server, issuer, circumstances) ? held.server : serverOf(issuer, circumstances);
  const needed = withoutForgotten(authorities, { issuer, server }, circumstances);
  const isSame = held !== undefined && server === held.server && needed.length === held.authorities.length;
  return isSame && needed.every((each, index) => each === held.authorities[index])
    ? held
    : { authorities: needed, server };
};

/** With a new authority beside the others, which are forgotten in time: their keys may be known to somebody. */
export const withNewAuthority = (held: Credentials, circumstances: Circumstances): Credentials => ({
  ...held,
  authorities: [authorityOf(circumstances), ...held.authorities],
});

/** PEM of all authorities: what the API server shall trust. */
export const bundleOf = ({ authorities }: Credentials): string =>
  authorities.map(({ certificate }) => certificate).join('');

const authoritiesFor = (held: Credentials | undefined, circumstances: Circumstances): readonly Certified[] => {
  const { nowMs, lifetimes } = circumstances;
  const valid = (held?.authorities ?? []).filter((each) => endOf(each) > nowMs);
  const [newest] = valid;
  const isGoodEnough = newest !== undefined && !isDue(newest, lifetimes.authorityMs, nowMs);
  return isGoodEnough ? valid : [authorityOf(circumstances), ...valid];
};

const authorityOf = ({ nowMs, lifetimes: { authorityMs } }: Circumstances): Certified =>
  newAuthority(`vmcp-operator-${nowMs}`, validity(nowMs, nowMs + authorityMs));

/** The newest that every API server trusts by now; while none is, the one that they know longest. */
const issuerAmong = (authorities: readonly Certified[], circumstances: Circumstances): Certified => {
  const { trusted, nowMs, lifetimes } = circumstances;
  const settled = authorities.find(
    (each) => trusted.includes(each.certificate.trim()) && ageOf(each, nowMs) >= lifetimes.settledMs,
  );
  const issuer = settled ?? authorities.at(-1);
  if (issuer === undefined) throw new Error('there is no authority');
  return issuer;
};

const isGood = (server: Certified, issuer: Certified, { hosts, nowMs, lifetimes }: Circumstances): boolean => {
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

const serverOf = (issuer: Certified, { hosts, nowMs, lifetimes }: Circumstances): Certified => {
  const end = Math.min(nowMs + lifetimes.serverMs, endOf(issuer));
  return newServerCertificate(hosts, validity(nowMs, end), issuer);
};

/** Authorities from before the one whose certificate every replica has served for a while. */
const withoutForgotten = (
  authorities: readonly Certified[],
  { issuer, server }: { readonly issuer: Certified; readonly server: Certified },
  { nowMs, lifetimes }: Circumstances,
): readonly Certified[] =>
  ageOf(server, nowMs) < lifetimes.settledMs ? authorities : authorities.slice(0, authorities.indexOf(issuer) + 1);

/** Clocks differ: what is made now is valid a while ago already. */
const BACKDATED_MS = 3_600_000;

const validity = (fromMs: number, toMs: number) => ({ fromMs: fromMs - BACKDATED_MS, toMs });

const ageOf = ({ certificate }: Certified, nowMs: number): number =>
  nowMs - new X509Certificate(certificate).validFromDate.getTime() - BACKDATED_MS;

const endOf = ({ certificate }: Certified): number => new X509Certificate(certificate).validToDate.getTime();

/** In the last third of its life. */
const isDue = (certified: Certified, lifetimeMs: number, nowMs: number): boolean =>
  endOf(certified) - nowMs < lifetimeMs / 3;
