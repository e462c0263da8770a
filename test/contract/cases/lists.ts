/** Lists: order, scope, selectors, pages and versions. */
import assert from 'node:assert/strict';
import type { Api } from '../contract.ts';
import { group, has, names } from '../contract.ts';

async function three(api: Api): Promise<void> {
  await api.configMap('b', {}, { labels: { app: 'x', tier: 'web' } });
  await api.configMap('a', {}, { labels: { app: 'x' } });
  await api.configMap('c', {}, { labels: { app: 'y' } });
}

async function selected(api: Api, selector: string): Promise<string[]> {
  return names(await api.ok('GET', `${api.configMaps()}?labelSelector=${encodeURIComponent(selector)}`));
}

async function podsBy(api: Api, selector: string): Promise<string[]> {
  return names(await api.ok('GET', `${api.pods()}?fieldSelector=${encodeURIComponent(selector)}`));
}

export const lists = group([
  [
    'a list is in the order of names',
    'listOrder',
    async (api) => {
      await three(api);
      assert.deepEqual(names(await api.ok('GET', api.configMaps())), ['a', 'b', 'c']);
    },
  ],
  [
    'a list says its kind and version',
    'listMeta',
    async (api) => {
      const list = await api.ok('GET', api.configMaps());
      has(list, { kind: 'ConfigMapList', apiVersion: 'v1', items: [] });
      assert.match(list.metadata.resourceVersion, /^\d+$/);
    },
  ],
  [
    'items of a built-in list have no kind of their own',
    'bareItems',
    async (api) => {
      await api.configMap();
      const list = await api.ok('GET', api.configMaps());
      assert.equal(list.items[0].kind, undefined);
      assert.equal(list.items[0].apiVersion, undefined);
    },
  ],
  [
    'the version of a list is not older than its newest object',
    'revisions',
    async (api) => {
      const before = await api.ok('GET', api.configMaps());
      const { metadata } = await api.configMap();
      const list = await api.ok('GET', api.configMaps());
      assert.ok(Number(list.metadata.resourceVersion) >= Number(metadata.resourceVersion));
      assert.ok(Number(list.metadata.resourceVersion) > Number(before.metadata.resourceVersion));
    },
  ],
  [
    'a list of one namespace holds nothing of another',
    'namespaceScope',
    async (api) => {
      await api.configMap();
      const list = await api.ok('GET', '/api/v1/namespaces/kube-public/configmaps');
      assert.ok(!names(list).includes('a'));
    },
  ],
  [
    'a list of a namespace that is not there is empty',
    'namespaceScope',
    async (api) => {
      await api.configMap();
      assert.deepEqual(names(await api.ok('GET', '/api/v1/namespaces/none/configmaps')), []);
    },
  ],
  [
    'a list over all namespaces tells them apart',
    'fieldSelectors',
    async (api) => {
      await api.configMap('only-here');
      await api.configMap('other');
      const list = await api.ok('GET', '/api/v1/configmaps?fieldSelector=metadata.name%3Donly-here');
      assert.ok(
        list.items.some((item: { metadata: { namespace: string } }) => item.metadata.namespace === api.namespace),
      );
      assert.ok(list.items.every((item: { metadata: { name: string } }) => item.metadata.name === 'only-here'));
    },
  ],
  [
    'labels: equal',
    'labelSelectors',
    async (api) => {
      await three(api);
      assert.deepEqual(await selected(api, 'app=x'), ['a', 'b']);
      assert.deepEqual(await selected(api, 'app==y'), ['c']);
    },
  ],
  [
    'labels: not equal, which holds for those without the label',
    'labelSelectors',
    async (api) => {
      await three(api);
      assert.deepEqual(await selected(api, 'tier!=web'), ['a', 'c']);
    },
  ],
  [
    'labels: several requirements, all of which hold',
    'labelSelectors',
    async (api) => {
      await three(api);
      assert.deepEqual(await selected(api, 'app=x,tier=web'), ['b']);
    },
  ],
  [
    'labels: in and notin',
    'labelSelectors',
    async (api) => {
      await three(api);
      assert.deepEqual(await selected(api, 'app in (y, z)'), ['c']);
      assert.deepEqual(await selected(api, 'app notin (x),app'), ['c']);
    },
  ],
  [
    'labels: exists and does not',
    'labelSelectors',
    async (api) => {
      await three(api);
      assert.deepEqual(await selected(api, 'tier'), ['b']);
      assert.deepEqual(await selected(api, '!tier,app'), ['a', 'c']);
    },
  ],
  [
    'labels: nonsense is 400',
    'labelSelectors',
    async (api) =>
      void (await api.refused(400, 'GET', `${api.configMaps()}?labelSelector=${encodeURIComponent('a in x')}`)),
  ],
  [
    'fields: by name',
    'fieldSelectors',
    async (api) => {
      await three(api);
      assert.deepEqual(names(await api.ok('GET', `${api.configMaps()}?fieldSelector=metadata.name%3Db`)), ['b']);
    },
  ],
  [
    'fields: not by name',
    'fieldSelectors',
    async (api) => {
      await three(api);
      const list = await api.ok('GET', `${api.configMaps()}?fieldSelector=metadata.name!%3Db`);
      assert.deepEqual(names(list), ['a', 'c']);
    },
  ],
  [
    'fields: pods of a node',
    'fieldSelectors',
    async (api) => {
      await api.newPod('free');
      await api.scheduledPod('bound');
      assert.deepEqual(await podsBy(api, `spec.nodeName=n-${api.id}`), ['bound']);
      assert.deepEqual(await podsBy(api, 'spec.nodeName='), ['free']);
      assert.deepEqual(await podsBy(api, 'spec.nodeName!='), ['bound']);
    },
  ],
  [
    'fields: pods by phase, and two at once',
    'fieldSelectors',
    async (api) => {
      await api.runningPod('runs');
      await api.scheduledPod('waits');
      assert.deepEqual(await podsBy(api, 'status.phase=Running'), ['runs']);
      assert.deepEqual(await podsBy(api, `spec.nodeName=n-${api.id},status.phase!=Running`), ['waits']);
    },
  ],
  [
    'fields: events by what they are about',
    'fieldSelectors',
    async (api) => {
      for (const name of ['e1', 'e2']) {
        const involvedObject = { kind: 'Pod', name: `about-${name}`, namespace: api.namespace };
        const body = { metadata: { name }, involvedObject, reason: 'Test', message: 'm', type: 'Normal' };
        await api.ok('POST', `/api/v1/namespaces/${api.namespace}/events`, body);
      }
      const path = `/api/v1/namespaces/${api.namespace}/events?fieldSelector=involvedObject.name%3Dabout-e1`;
      assert.deepEqual(names(await api.ok('GET', path)), ['e1']);
    },
  ],
  [
    'fields: one that is not known is 400',
    'fieldSelectors',
    async (api) => {
      const status = await api.refused(400, 'GET', `${api.configMaps()}?fieldSelector=data.x%3D1`);
      assert.equal(
        status.message,
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
      );
      const ofPods = await api.refused(400, 'GET', `${api.pods()}?fieldSelector=data.x%3D1`);
      assert.equal(ofPods.message, 'field label not supported: data.x');
    },
  ],
  [
    'limit cuts a page and counts what is left',
    'limit',
    async (api) => {
      await three(api);
      const page = await api.ok('GET', `${api.configMaps()}?limit=2`);
      assert.deepEqual(names(page), ['a', 'b']);
      assert.ok(page.metadata.continue);
      assert.equal(page.metadata.remainingItemCount, 1);
    },
  ],
  [
    'continue goes on where the page ended',
    'continue',
    async (api) => {
      await three(api);
      const page = await api.ok('GET', `${api.configMaps()}?limit=2`);
      const rest = await api.ok(
        'GET',
        `${api.configMaps()}?limit=2&continue=${encodeURIComponent(page.metadata.continue)}`,
      );
      assert.deepEqual(names(rest), ['c']);
      assert.ok(!rest.metadata.continue);
    },
  ],
  [
    'pages of one list show one moment',
    'continue',
    async (api) => {
      await three(api);
      const page = await api.ok('GET', `${api.configMaps()}?limit=2`);
      await api.configMap('d');
      await api.ok('DELETE', api.configMaps('c'));
      const rest = await api.ok(
        'GET',
        `${api.configMaps()}?limit=2&continue=${encodeURIComponent(page.metadata.continue)}`,
      );
      assert.deepEqual(names(rest), ['c']);
      assert.equal(rest.metadata.resourceVersion, page.metadata.resourceVersion);
    },
  ],
  [
    'a continue token that is none is 400',
    'continue',
    async (api) => void (await api.refused(400, 'GET', `${api.configMaps()}?limit=1&continue=nonsense`)),
  ],
  [
    'a limit and a selector together',
    'limit',
    async (api) => {
      await three(api);
      const page = await api.ok('GET', `${api.configMaps()}?limit=1&labelSelector=app%3Dx`);
      assert.deepEqual(names(page), ['a']);
      const rest = await api.ok(
        'GET',
        `${api.configMaps()}?limit=1&labelSelector=app%3Dx&continue=${encodeURIComponent(page.metadata.continue)}`,
      );
      assert.deepEqual(names(rest), ['b']);
    },
  ],
  [
    'an exact version shows that moment',
    'exactLists',
    async (api) => {
      await api.configMap('a');
      const { metadata } = await api.configMap('b');
      await api.configMap('c');
      const path = `${api.configMaps()}?resourceVersionMatch=Exact&resourceVersion=${metadata.resourceVersion}`;
      const list = await api.ok('GET', path);
      assert.deepEqual(names(list), ['a', 'b']);
      assert.equal(list.metadata.resourceVersion, metadata.resourceVersion);
    },
  ],
  [
    'resourceVersion=0 answers with what is known',
    'versionParameter',
    async (api) => {
      const { metadata } = await api.configMap();
      const path = `${api.configMaps()}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`;
      await api.ok('GET', path);
      const list = await api.ok('GET', `${api.configMaps()}?resourceVersion=0`);
      assert.deepEqual(names(list), ['a']);
      assert.notEqual(list.metadata.resourceVersion, '0');
      await api.refused(400, 'GET', `${api.configMaps()}?resourceVersion=abc`);
    },
  ],
  [
    'NotOlderThan a version shows at least that',
    'versionParameter',
    async (api) => {
      const { metadata } = await api.configMap();
      const path = `${api.configMaps()}?resourceVersionMatch=NotOlderThan&resourceVersion=${metadata.resourceVersion}`;
      const list = await api.ok('GET', path);
      assert.deepEqual(names(list), ['a']);
      await api.refused(422, 'GET', `${api.configMaps()}?resourceVersionMatch=Nonsense&resourceVersion=1`);
    },
  ],
  [
    'a version of the future is 504 with a cause that says so',
    'futureVersions',
    async (api) => {
      const status = await api.refused(504, 'GET', `${api.configMaps()}?resourceVersion=999999999`);
      has(status, {
        reason: 'Timeout',
        details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
      });
    },
  ],
  [
    'resourceVersionMatch without a version is 422',
    'versionParameter',
    async (api) => void (await api.refused(422, 'GET', `${api.configMaps()}?resourceVersionMatch=Exact`)),
  ],
  [
    'a collection can be deleted by selector',
    'deleteCollection',
    async (api) => {
      await three(api);
      await api.ok('DELETE', `${api.configMaps()}?labelSelector=app%3Dx`);
      assert.deepEqual(names(await api.ok('GET', api.configMaps())), ['c']);
    },
  ],
]);
