import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JobOrder } from '../api/steps.ts';
import type { PodTemplate } from './job.ts';
import { jobName, jobOf, NODE_LABEL } from './job.ts';

const ladder = {
  threshold: 'Ready=NotTrue',
  position: 0,
  remedy: 'repair',
  phase: 'running',
  startedAt: '2026-01-01T00:00:00.000Z',
} as const;
const template: PodTemplate = { spec: { containers: [{ env: [{ name: 'MODE', value: 'soft' }] }] } };
const order: JobOrder = {
  name: jobName(ladder, 'uid-1'),
  remedy: 'repair',
  template: 'hash-1',
  node: { name: 'worker-1', uid: 'uid-1' },
  trouble: 'Ready=NotTrue',
  incident: 'worker-1-1',
};

interface Made {
  metadata: { labels: Record<string, string> };
  spec: {
    backoffLimit: number;
    template: {
      metadata: { labels: Record<string, string>; annotations: Record<string, string> };
      spec: {
        restartPolicy: string;
        containers: { env: { name: string; value: string }[] }[];
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: Record<string, unknown>[] };
          };
        };
      };
    };
  };
}

const made = (from = template): Made => jobOf(order, from) as unknown as Made;
const termsOf = (job: Made): unknown =>
  job.spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms;
const notHere = { key: 'metadata.name', operator: 'NotIn', values: ['worker-1'] };

describe('the Job of a remedy', () => {
  test('[SEC-3] runs as an account of its own, unless its template names another', () => {
    const accountOf = (spec: object): unknown => {
      const job = made({ spec: { ...template.spec, ...spec } });
      return (job.spec.template.spec as { serviceAccountName?: string }).serviceAccountName;
    };
    assert.equal(accountOf({}), 'fenceline-remedies');
    assert.equal(accountOf({ serviceAccountName: 'detacher' }), 'detacher');
  });

  test('[REM-2] knows of what it remedies from its environment, beside what the template says', () => {
    const { containers } = made().spec.template.spec;
    assert.deepEqual(
      containers[0]?.env.map(({ name, value }) => `${name}=${value}`),
      [
        'FENCELINE_NODE=worker-1',
        'FENCELINE_NODE_UID=uid-1',
        'FENCELINE_CONDITION=Ready=NotTrue',
        'FENCELINE_INCIDENT=worker-1-1',
        'FENCELINE_REMEDY=repair',
        'MODE=soft',
      ],
    );
    assert.equal(made().spec.template.metadata.annotations['fenceline.dev/node'], 'worker-1');
    assert.deepEqual([made().spec.backoffLimit, made().spec.template.spec.restartPolicy], [0, 'Never']);
    assert.equal(made().metadata.labels[NODE_LABEL], 'uid-1');
  });

  test('[REM-3] never runs on the node in trouble, whatever the template asks for', () => {
    assert.deepEqual(termsOf(made()), [{ matchFields: [notHere] }]);
    const wish = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] };
    const other = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['worker-2'] }] };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [wish, other] } },
    };
    assert.deepEqual(termsOf(made({ spec: { affinity } })), [
      { ...wish, matchFields: [notHere] },
      { matchFields: [...other.matchFields, notHere] },
    ]);
  });

  test('[REM-5] has one name for one step, and another for every other', () => {
    assert.match(order.name, /^fenceline-repair-[0-9a-z]+$/);
    assert.equal(jobName({ ...ladder }, 'uid-1'), order.name);
    const names = [
      order.name,
      jobName(ladder, 'uid-2'),
      jobName({ ...ladder, position: 1 }, 'uid-1'),
      jobName({ ...ladder, phase: 'recovering' }, 'uid-1'),
      jobName({ ...ladder, startedAt: '2026-01-01T00:00:01.000Z' }, 'uid-1'),
    ];
    assert.equal(new Set(names).size, names.length);
    assert.ok(jobName({ ...ladder, remedy: 'r'.repeat(63) }, 'uid-1').length <= 63);
  });
});
