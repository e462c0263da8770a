/** Watches: what they tell, in which order, from where, and how they end. */
import assert from 'node:assert/strict';
import type { Api, OpenWatch, WatchEvent } from '../contract.ts';
import { group, has, types } from '../contract.ts';
import { define, things } from '../things.ts';

function brief(event: WatchEvent | undefined): string {
  return event === undefined ? 'end' : `${event.type} ${event.object.metadata?.name}`;
}

async function briefs(watch: OpenWatch, count: number): Promise<string[]> {
  const result: string[] = [];
  for (let index = 0; index < count; index += 1) result.push(brief(await watch.next()));
  return result;
}

async function now(api: Api, path = api.configMaps()): Promise<string> {
  return (await api.ok('GET', path)).metadata.resourceVersion as string;
}

async function from(api: Api, query = ''): Promise<OpenWatch> {
  return api.watch(`${api.configMaps()}?watch=1&resourceVersion=${await now(api)}${query}`);
}

const label = (api: Api, name: string, value: string | null): Promise<unknown> =>
  api.ok('PATCH', api.configMaps(name), { metadata: { labels: { app: value } } }, { contentType: types.merge });

export const watches = group([
  [
    'a watch tells of additions, changes and deletions in order',
    'watchDeletes',
    async (api) => {
      const watch = await from(api);
      await api.configMap('a');
      await api.ok('PUT', api.configMaps('a'), { metadata: { name: 'a' }, data: { x: '2' } });
      await api.ok('DELETE', api.configMaps('a'));
      assert.deepEqual(await briefs(watch, 3), ['ADDED a', 'MODIFIED a', 'DELETED a']);
    },
  ],
  [
    'an event holds the whole object with its kind',
    'watchObjects',
    async (api) => {
      const watch = await from(api);
      const made = await api.configMap('a');
      assert.deepEqual(await watch.next(), { type: 'ADDED', object: made });
    },
  ],
  [
    'a deletion has a version of its own, newer than the last state',
    'watchDeletes',
    async (api) => {
      const watch = await from(api);
      const made = await api.configMap('a');
      await api.ok('DELETE', api.configMaps('a'));
      await watch.next();
      const gone = await watch.next();
      assert.equal(gone?.type, 'DELETED');
      assert.ok(Number(gone?.object.metadata.resourceVersion) > Number(made.metadata.resourceVersion));
      assert.equal(gone?.object.metadata.uid, made.metadata.uid);
    },
  ],
  [
    'versions in a watch only grow',
    'revisions',
    async (api) => {
      const watch = await from(api);
      for (const name of ['a', 'b', 'c']) await api.configMap(name);
      const versions: number[] = [];
      for (let index = 0; index < 3; index += 1)
        versions.push(Number((await watch.next())?.object.metadata.resourceVersion));
      assert.ok(versions[0]! < versions[1]! && versions[1]! < versions[2]!);
    },
  ],
  [
    'a watch from a version tells what came since',
    'watchReplay',
    async (api) => {
      const version = await now(api);
      await api.configMap('a');
      await api.ok('DELETE', api.configMaps('a'));
      const watch = await api.watch(`${api.configMaps()}?watch=1&resourceVersion=${version}`);
      assert.deepEqual(await briefs(watch, 2), ['ADDED a', 'DELETED a']);
    },
  ],
  [
    'a watch from a version does not tell what was before',
    'watchStart',
    async (api) => {
      await api.configMap('old');
      const watch = await from(api);
      await api.configMap('new');
      assert.deepEqual(await briefs(watch, 1), ['ADDED new']);
    },
  ],
  [
    'a watch from an object’s version goes on right after it',
    'watchReplay',
    async (api) => {
      const { metadata } = await api.configMap('a');
      await api.configMap('b');
      const watch = await api.watch(`${api.configMaps()}?watch=1&resourceVersion=${metadata.resourceVersion}`);
      assert.deepEqual(await briefs(watch, 1), ['ADDED b']);
    },
  ],
  [
    'a watch without a version begins with what is there',
    'watchState',
    async (api) => {
      await api.configMap('a');
      await api.configMap('b');
      const watch = await api.watch(`${api.configMaps()}?watch=1`);
      assert.deepEqual((await briefs(watch, 2)).sort(), ['ADDED a', 'ADDED b']);
      await api.configMap('c');
      assert.deepEqual(await briefs(watch, 1), ['ADDED c']);
    },
  ],
  [
    'a watch from 0 begins with what is there',
    'watchState',
    async (api) => {
      await api.configMap('a');
      const list = await api.ok('GET', api.configMaps());
      // A cached start needs the cache to have seen it.
      await api.ok(
        'GET',
        `${api.configMaps()}?resourceVersion=${list.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`,
      );
      const watch = await api.watch(`${api.configMaps()}?watch=1&resourceVersion=0`);
      assert.deepEqual(await briefs(watch, 1), ['ADDED a']);
    },
  ],
  [
    'a watch of one namespace tells nothing of another',
    'watchScope',
    async (api) => {
      const watch = await from(api);
      const other = `/api/v1/namespaces/default/configmaps`;
      await api.ok('POST', other, { metadata: { name: `o-${api.id}` } });
      await api.ok('DELETE', `${other}/o-${api.id}`);
      await api.configMap('mine');
      assert.deepEqual(await briefs(watch, 1), ['ADDED mine']);
    },
  ],
  [
    'labels: what comes to match is added',
    'selectorTransitions',
    async (api) => {
      await api.configMap('a');
      const watch = await from(api, '&labelSelector=app%3Dx');
      await label(api, 'a', 'x');
      assert.deepEqual(await briefs(watch, 1), ['ADDED a']);
    },
  ],
  [
    'labels: what no longer matches is deleted, at the version of the change, as it was before',
    'selectorTransitions',
    async (api) => {
      await api.configMap('a', {}, { labels: { app: 'x' } });
      const watch = await from(api, '&labelSelector=app%3Dx');
      await label(api, 'a', 'y');
      const changed = await api.ok('GET', api.configMaps('a'));
      const event = await watch.next();
      assert.equal(brief(event), 'DELETED a');
      has(event?.object.metadata, { resourceVersion: changed.metadata.resourceVersion, labels: { app: 'x' } });
    },
  ],
  [
    'labels: what never matched is not told',
    'labelSelectors',
    async (api) => {
      const watch = await from(api, '&labelSelector=app%3Dx');
      await api.configMap('other');
      await api.ok('DELETE', api.configMaps('other'));
      await api.configMap('a', {}, { labels: { app: 'x' } });
      assert.deepEqual(await briefs(watch, 1), ['ADDED a']);
    },
  ],
  [
    'labels: a change within the selection is a change',
    'watchTypes',
    async (api) => {
      await api.configMap('a', {}, { labels: { app: 'x' } });
      const watch = await from(api, '&labelSelector=app%3Dx');
      await api.ok('PATCH', api.configMaps('a'), { data: { y: '1' } }, { contentType: types.merge });
      assert.deepEqual(await briefs(watch, 1), ['MODIFIED a']);
    },
  ],
  [
    'fields: a watch of one name',
    'fieldSelectors',
    async (api) => {
      const watch = await from(api, '&fieldSelector=metadata.name%3Dc');
      for (const name of ['a', 'b', 'c']) await api.configMap(name);
      assert.deepEqual(await briefs(watch, 1), ['ADDED c']);
    },
  ],
  [
    'fields: a pod that is bound appears in the watch of its node',
    'selectorTransitions',
    async (api) => {
      await api.newPod('p');
      const version = await now(api, api.pods());
      const selector = encodeURIComponent(`spec.nodeName=n-${api.id}`);
      const watch = await api.watch(`${api.pods()}?watch=1&resourceVersion=${version}&fieldSelector=${selector}`);
      const target = { apiVersion: 'v1', kind: 'Node', name: `n-${api.id}` };
      await api.ok('POST', api.pods('p', 'binding'), { metadata: { name: 'p' }, target });
      assert.deepEqual(await briefs(watch, 1), ['ADDED p']);
    },
  ],
  [
    'a version that is no longer known is an ERROR event with 410',
    'compaction',
    async (api) => {
      // The history of a new resource begins when it is defined.
      await define(api);
      const watch = await api.watch(`${things(api)}?watch=1&resourceVersion=1`);
      assert.equal(watch.status, 200);
      const event = await watch.next();
      assert.equal(event?.type, 'ERROR');
      has(event?.object, { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 });
      assert.match(event?.object.message, /too old resource version: 1 \(\d+\)/);
      assert.equal(await watch.next(), undefined);
    },
  ],
  [
    'a version that is none is refused',
    'versionParameter',
    async (api) => void (await api.refused(500, 'GET', `${api.configMaps()}?watch=1&resourceVersion=abc`)),
  ],
  [
    'timeoutSeconds ends a watch',
    'watchTimeout',
    async (api) => {
      const watch = await from(api, '&timeoutSeconds=1');
      await api.pass(1100);
      assert.equal(await watch.next(), undefined);
    },
  ],
  [
    'a bookmark comes before the end',
    'bookmarks',
    async (api) => {
      const version = await now(api);
      const watch = await from(api, '&timeoutSeconds=4&allowWatchBookmarks=true');
      await api.pass(4100);
      const event = await watch.next();
      assert.equal(event?.type, 'BOOKMARK');
      assert.ok(Number(event?.object.metadata.resourceVersion) >= Number(version));
      assert.equal(event?.object.kind, 'ConfigMap');
    },
  ],
  [
    'no bookmarks unless asked for',
    'bookmarksOnDemand',
    async (api) => {
      const watch = await from(api, '&timeoutSeconds=3');
      await api.pass(3100);
      assert.equal(await watch.next(), undefined);
    },
  ],
  [
    'a bookmark passes over what others wrote',
    'bookmarks',
    async (api) => {
      const watch = await from(api, '&timeoutSeconds=4&allowWatchBookmarks=true');
      const { metadata } = await api.configMap('a');
      await watch.next();
      await api.pass(4100);
      const event = await watch.next();
      assert.equal(event?.type, 'BOOKMARK');
      assert.ok(Number(event?.object.metadata.resourceVersion) >= Number(metadata.resourceVersion));
    },
  ],
  [
    'sendInitialEvents: the state, then a bookmark that says so, then changes',
    'initialEvents',
    async (api) => {
      await api.configMap('a');
      const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const watch = await api.watch(`${api.configMaps()}?${query}`);
      assert.deepEqual(await briefs(watch, 1), ['ADDED a']);
      const mark = await watch.next();
      has(mark, { type: 'BOOKMARK', object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } } });
      await api.configMap('b');
      // Whoever wants bookmarks gets more of them, whenever the server likes.
      let event = await watch.next();
      for (let more = 0; event?.type === 'BOOKMARK' && more < 10; more += 1) event = await watch.next();
      has(event, { type: 'ADDED', object: { metadata: { name: 'b' } } });
    },
  ],
  [
    'sendInitialEvents needs to know how',
    'initialEvents',
    async (api) =>
      void (await api.refused(
        422,
        'GET',
        `${api.configMaps()}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true`,
      )),
  ],
  [
    'an object recreated under its name is a deletion and an addition with another UID',
    'uids',
    async (api) => {
      const watch = await from(api);
      const first = await api.configMap('a');
      await api.ok('DELETE', api.configMaps('a'));
      const second = await api.configMap('a');
      assert.deepEqual(await briefs(watch, 3), ['ADDED a', 'DELETED a', 'ADDED a']);
      assert.ok(first.metadata.uid);
      assert.notEqual(first.metadata.uid, second.metadata.uid);
    },
  ],
  [
    'a write that changes nothing is not told',
    'noopWrites',
    async (api) => {
      const made = await api.configMap('a');
      const watch = await from(api);
      await api.ok('PUT', api.configMaps('a'), made);
      await api.configMap('b');
      assert.deepEqual(await briefs(watch, 1), ['ADDED b']);
    },
  ],
  [
    'a forced deletion of a bound pod is told as a change and a deletion',
    'gracefulWrite',
    async (api) => {
      await api.scheduledPod('p');
      const watch = await api.watch(`${api.pods()}?watch=1&resourceVersion=${await now(api, api.pods())}`);
      await api.ok('DELETE', `${api.pods('p')}?gracePeriodSeconds=0`);
      const [first, second] = [await watch.next(), await watch.next()];
      assert.deepEqual([brief(first), brief(second)], ['MODIFIED p', 'DELETED p']);
      assert.equal(first?.object.metadata.deletionGracePeriodSeconds, 0);
    },
  ],
  [
    'removing the last finalizer of a deleted object is told as its deletion alone',
    'finalizers',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/hold'] });
      await api.ok('DELETE', api.configMaps('a'));
      const watch = await from(api);
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: null } }, { contentType: types.merge });
      assert.deepEqual(await briefs(watch, 1), ['DELETED a']);
    },
  ],
]);
