import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  type RenewalInput,
  type Credentials,
  LIFETIMES,
  bundleOf,
  renewed,
  withNewAuthority,
} from '../../../operator/admission/credentials.ts';
import { credentialsIn, secretOf } from '../../../operator/admission/credentials-secret.ts';

const start = Date.parse('2026-11-20T12:00:00Z');
const minute = 60_000;
const day = 24 * 60 * minute;
const hosts = ['webhook.vmcp-system.svc'];

const at = (nowMs: number, trusted = '', more: Partial<RenewalInput> = {}): RenewalInput => ({
  hosts,
  trusted,
  nowMs,
  lifetimes: LIFETIMES,
  ...more,
});

const first = renewed(undefined, at(start));

/** Would a client that trusts this bundle take what is served? */
const isTaken = ({ server }: Credentials, bundle: string, nowMs: number): boolean => {
  const certificate = new X509Certificate(server.certificate);
  const isValid = certificate.validFromDate.getTime() <= nowMs && nowMs < certificate.validToDate.getTime();
  const authorities = bundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return (
    isValid &&
    authorities
      .map((pem) => new X509Certificate(pem))
      .some(
        (each) =>
          certificate.checkIssued(each) && each.validToDate.getTime() > nowMs && certificate.verify(each.publicKey),
      )
  );
};

test('the first credentials can be used at once', () => {
  assert.equal(first.authorities.length, 1);
  assert.ok(isTaken(first, bundleOf(first), start));
  assert.equal(new X509Certificate(first.server.certificate).checkHost(hosts[0] ?? ''), hosts[0]);
});

test('what is good stays as it is', () => {
  for (const nowMs of [start, start + day, start + 59 * day]) {
    assert.equal(renewed(first, at(nowMs, bundleOf(first))), first);
  }
});

test('in the last third of its life what is served is made anew, by the same authority', () => {
  const second = renewed(first, at(start + 61 * day, bundleOf(first)));
  assert.notEqual(second.server.certificate, first.server.certificate);
  assert.deepEqual(second.authorities, first.authorities);
});

test('another name of the Service gets a certificate at once', () => {
  const moved = renewed(first, at(start + day, bundleOf(first), { hosts: ['other.vmcp-system.svc'] }));
  assert.equal(
    new X509Certificate(moved.server.certificate).checkHost('other.vmcp-system.svc'),
    'other.vmcp-system.svc',
  );
});

test('a certificate for names and addresses of both families is good as long as it has all of them', () => {
  const all = [...hosts, '10.1.2.3', '::1', '2001:db8::a:0:1'];
  const held = renewed(undefined, at(start, '', { hosts: all }));
  for (const some of [all, all.slice(1), all.slice(0, 2)]) {
    assert.equal(renewed(held, at(start, bundleOf(held), { hosts: some })), held);
  }
  for (const other of ['10.1.2.4', '2001:db8::a:0:2', 'a.svc']) {
    const moved = renewed(held, at(start, bundleOf(held), { hosts: [...all, other] }));
    assert.notEqual(moved.server.certificate, held.server.certificate, other);
  }
});

test('the name of a certificate’s subject is none of its hosts', () => {
  const held = renewed(undefined, at(start, '', { hosts: ['10.1.2.3'] }));
  const [, subject = ''] = new X509Certificate(held.server.certificate).subject.split('=');
  const moved = renewed(held, at(start, bundleOf(held), { hosts: [subject] }));
  assert.notEqual(moved.server.certificate, held.server.certificate);
});

describe('a new authority', () => {
  const due = start + 244 * day;
  const begun = renewed(first, at(due, bundleOf(first)));

  test('is trusted beside the old one before it signs anything', () => {
    assert.equal(begun.authorities.length, 2);
    assert.equal(begun.authorities[1], first.authorities[0]);
    assert.ok(isTaken(begun, bundleOf(first), due));
    const later = renewed(begun, at(due + 4 * minute, bundleOf(begun)));
    assert.equal(later, begun);
  });

  test('signs nothing as long as the API server does not trust it, however long that takes', () => {
    const later = renewed(begun, at(due + 50 * day, bundleOf(first)));
    assert.ok(isTaken(later, bundleOf(first), due + 50 * day));
  });

  test('signs what is served once it is trusted everywhere, and then the old one is forgotten', () => {
    const signed = renewed(begun, at(due + 6 * minute, bundleOf(begun)));
    assert.equal(signed.authorities.length, 2);
    assert.ok(!isTaken(signed, bundleOf(first), due + 6 * minute));
    const kept = renewed(signed, at(due + 10 * minute, bundleOf(signed)));
    assert.equal(kept, signed);
    const done = renewed(signed, at(due + 12 * minute, bundleOf(signed)));
    assert.deepEqual(done, { ...signed, authorities: signed.authorities.slice(0, 1) });
  });
});

test('whenever the operator looks, in ten years, what is served is trusted by an API server that is a minute late', () => {
  let held = first;
  let before = bundleOf(first);
  let trusted = bundleOf(first);
  const seen = new Set<string>();
  for (let nowMs = start; nowMs < start + 3650 * day; nowMs += 10 * day) {
    // It looks several times in a row, as it does every ten seconds.
    for (const later of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      held = renewed(held, at(nowMs + later * minute, trusted));
      assert.ok(isTaken(held, before, nowMs + later * minute), new Date(nowMs).toISOString());
      [before, trusted] = [trusted, bundleOf(held)];
    }
    seen.add(held.authorities[0]?.certificate ?? '');
    assert.ok(held.authorities.length <= 2);
  }
  assert.ok(seen.size >= 14, String(seen.size));
});

test('after years without an operator everything is made anew', () => {
  const nowMs = start + 3000 * day;
  const later = renewed(first, at(nowMs, bundleOf(first)));
  assert.ok(isTaken(later, bundleOf(later), nowMs));
  assert.ok(!bundleOf(later).includes(first.authorities[0]?.certificate ?? 'none'));
});

test('an authority that is no longer to be trusted is replaced without a gap', () => {
  const nowMs = start + day;
  const begun = renewed(withNewAuthority(first, at(nowMs)), at(nowMs, bundleOf(first)));
  assert.ok(isTaken(begun, bundleOf(first), nowMs));
  const signed = renewed(begun, at(nowMs + 6 * minute, bundleOf(begun)));
  const done = renewed(signed, at(nowMs + 12 * minute, bundleOf(signed)));
  assert.ok(!bundleOf(done).includes(first.authorities[0]?.certificate ?? 'none'));
});

describe('the Secret', () => {
  const due = start + 244 * day;
  const two = renewed(first, at(due, bundleOf(first)));

  test('holds everything, in the form of a TLS Secret', () => {
    const secret = secretOf('ops', two);
    assert.equal(secret['type'], 'kubernetes.io/tls');
    assert.deepEqual(Object.keys(secret['data'] ?? {}), ['tls.crt', 'tls.key', 'ca.crt', 'ca.key']);
    assert.deepEqual(credentialsIn(secret), two);
  });

  test('with something else in it says what to do', () => {
    const secret = secretOf('ops', two);
    const data = secret['data'] as Record<string, string>;
    const other = secretOf('ops', renewed(undefined, at(start)))['data'] as Record<string, string>;
    for (const wrong of [
      {},
      { ...data, 'ca.crt': '' },
      { ...data, 'ca.key': '' },
      { ...data, 'tls.crt': Buffer.from('garbage').toString('base64') },
      { ...data, 'tls.key': other['tls.key'] },
    ]) {
      assert.throws(
        () => credentialsIn({ ...secret, data: wrong }),
        /vmcp-operator-webhook .*; delete it and new ones/,
      );
    }
  });
});
