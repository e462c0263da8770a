/** Where something about a method is written, for whoever has to correct it: the object, and the entry or field in it. */
import type { ConfigResult, Method, NamedData, WrittenPlaces } from '../api/fence-config.ts';
import { DEVICE_FILE, placeOf } from '../api/fence-config.ts';
import { CONFIG_PREFIX, METHOD_PREFIX } from '../api/fence-names.ts';
import { parseProperties } from './properties.ts';

const templateEntry = 'template.properties';

/** `maps`: the ConfigMaps of fences and of their templates. */
export function placesOf(node: string, config: ConfigResult, maps: readonly NamedData[]): WrittenPlaces {
  const source = config.ok ? config.config.source : undefined;
  if (source?.startsWith(DEVICE_FILE) === true) return deviceFields(node);
  const map = maps.find(({ name }) => name === source);
  return {
    of: (method, key) => map && placeInMap(map, maps, { method, key }),
    pin: ({ name: method }, says) => {
      const into = `${METHOD_PREFIX}${method}`;
      if (map === undefined || map.name === `${CONFIG_PREFIX}${node}`) {
        return { line: `identity=${says}`, into: map === undefined ? into : `${into} of ConfigMap ${map.name}` };
      }
      // It serves other nodes as well, whose devices answer otherwise.
      const values = `guid=${says} into its entry values.${node}`;
      return { line: 'identity={{guid}}', into: `${into} of ConfigMap ${map.name}, and ${values}` };
    },
  };
}

function deviceFields(node: string): WrittenPlaces {
  const fields: Record<string, string> = { agent: 'agent', driver: 'driver', secret: 'secrets' };
  return {
    of: ({ name }, key) =>
      placeOf({ file: `${DEVICE_FILE}${name}`, key: `spec.${fields[key] ?? `parameters.${key}`}` }),
    pin: ({ name, object }, says) => {
      if (object !== undefined) return { line: `identity: ${says}`, into: `spec of FenceDevice ${name}` };
      const values = `guid: ${says} into spec.values.${node}`;
      return { line: 'identity: "{{guid}}"', into: `spec of FenceDevice ${name}, and ${values}` };
    },
  };
}

function placeInMap(
  map: NamedData,
  maps: readonly NamedData[],
  { method, key }: { method: Method; key: string },
): string | undefined {
  const entry = `${METHOD_PREFIX}${method.name}`;
  const own = parseProperties(map.data[entry] ?? '').entries;
  const lineOf = (some: typeof own): number | undefined => some.find((one) => one.key === key)?.line;
  const line = lineOf(own);
  if (line !== undefined) return placeOf({ file: map.name, key: `${entry}:${line} ${key}` });
  const template = own.find((one) => one.key === 'template')?.value ?? '';
  const text = maps.find(({ name }) => name === template)?.data[templateEntry] ?? '';
  const inherited = lineOf(parseProperties(text).entries);
  if (inherited !== undefined) return placeOf({ file: template, key: `${templateEntry}:${inherited} ${key}` });
  return placeOf({ file: map.name, key: `${entry}: ${key}` });
}
