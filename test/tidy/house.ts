/** The rooms of the house. CONTRIBUTING.md shows the same as a table; tests keep both, and the code, to it. */

/** Other rooms that a room may import from; `clock` and `version` are the files of that name beside the rooms. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  api: [],
  judge: ['api'],
  remedy: ['api'],
  fence: ['api'],
  release: ['api'],
  return: ['api'],
  drain: ['api'],
  decide: ['api', 'judge', 'remedy', 'fence', 'release', 'return', 'drain'],
  kube: ['clock'],
  observe: ['api', 'clock', 'kube'],
  act: ['api', 'clock', 'kube', 'devices', 'storage'],
  devices: ['api', 'clock', 'kube'],
  storage: ['api', 'clock', 'kube'],
  report: ['api', 'clock', 'kube', 'decide', 'act', 'fence'],
  world: ['clock', 'kube'],
};

/** They import whatever they need. */
export const openRooms: readonly string[] = ['operator', 'cli', 'console', 'scenario'];

export const pureRooms: readonly string[] = ['api', 'judge', 'remedy', 'fence', 'release', 'return', 'drain', 'decide'];
