import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Review, accepted, forbidden, invalid, responseTo, reviewIn } from '../../../operator/admission/review.ts';
import { object } from './context-under-test.ts';

const entry = object('MCPServerEntry', 'it', { remoteUrl: 'x' });
const review: Review = { uid: 'u-1', operation: 'CREATE', object: entry };

const body = (request: object) => ({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });

test('an AdmissionReview is read, with what it leaves open left out', () => {
  assert.deepEqual(
    reviewIn(body({ uid: 'u-1', operation: 'CREATE', object: entry, oldObject: null, dryRun: true })),
    review,
  );
  assert.deepEqual(reviewIn(body({ uid: 'u-1', operation: 'DELETE', object: null, oldObject: entry })), {
    uid: 'u-1',
    operation: 'DELETE',
    oldObject: entry,
  });
});

const NONE: readonly unknown[] = [
  undefined,
  null,
  'text',
  [],
  {},
  { ...body({ uid: 'u', operation: 'CREATE' }), apiVersion: 'admission.k8s.io/v1beta1' },
  { ...body({ uid: 'u', operation: 'CREATE' }), kind: 'ConversionReview' },
  body({ operation: 'CREATE' }),
  body({ uid: '', operation: 'CREATE' }),
  body({ uid: 'u', operation: 'PURGE' }),
  body({ uid: 'u', operation: 'CREATE', object: 'text' }),
  body({ uid: 'u', operation: 'CREATE', object: { kind: 'MCPGroup' } }),
];
NONE.forEach((each, index) => {
  test(`what is no AdmissionReview of version 1 is none (${index})`, () => assert.equal(reviewIn(each), undefined));
});

test('an accepted change is answered under its uid, with the warnings if there are any', () => {
  const response = (verdict: Parameters<typeof responseTo>[1]) => responseTo(review, verdict);
  const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
  assert.deepEqual(response(accepted), { ...answer, response: { uid: 'u-1', allowed: true } });
  assert.deepEqual(response({ warnings: ['w'] }), {
    ...answer,
    response: { uid: 'u-1', allowed: true, warnings: ['w'] },
  });
});

test('a refused change is answered with a Status: words for people, causes for programs', () => {
  const problems = [
    { path: 'spec.a', reason: 'is red', remedy: 'paint it' },
    { path: 'spec.b', reason: 'is round', remedy: 'square it' },
  ];
  assert.deepEqual(responseTo(review, { refusal: invalid(entry, problems), warnings: [] }), {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid: 'u-1',
      allowed: false,
      status: {
        apiVersion: 'v1',
        kind: 'Status',
        status: 'Failure',
        code: 422,
        reason: 'Invalid',
        message: 'MCPServerEntry it: spec.a: is red; paint it; spec.b: is round; square it',
        details: {
          name: 'it',
          group: 'vmcp.dev',
          kind: 'MCPServerEntry',
          causes: [
            { reason: 'FieldValueInvalid', field: 'spec.a', message: 'is red; paint it' },
            { reason: 'FieldValueInvalid', field: 'spec.b', message: 'is round; square it' },
          ],
        },
      },
    },
  });
});

test('a refused deletion is Forbidden, and about no field', () => {
  const { response } = responseTo(
    { uid: 'u', operation: 'DELETE', oldObject: entry },
    { refusal: forbidden('in use'), warnings: [] },
  ) as {
    readonly response: { readonly status: object };
  };
  assert.deepEqual(response.status, {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    code: 403,
    reason: 'Forbidden',
    message: 'in use',
  });
});
