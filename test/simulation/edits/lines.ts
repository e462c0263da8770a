/** Edits of the ConfigMaps of fences: by line, as people edit them. No schema refuses one; of some it is known that they are wrong. */
import type { Chance } from '../../twins/chance.ts';
import type { Written } from './base.ts';
import { GONE } from './values.ts';

export interface LineEdit {
  entry: string;
  value: string | typeof GONE;
  /** Whoever reads it has to object: the node that it is about is fenced by nothing that it says. */
  isWrong: boolean;
}

type Data = Record<string, string>;

/** By the entry that they are written into; `*`: into any. */
const wrongLines: readonly [RegExp, readonly string[]][] = [
  [/^/, ['no property', '=x', ' = ']],
  [
    /^config\.properties$/,
    [
      'power_managment=off on',
      'power_management=on off',
      'power_management=nothing',
      'power_management=on',
      'power_management=mark-unschedulable',
      'isolation=of',
      'selector=((',
      'selector=',
      'node_name=node-9',
      'toString=1',
      '__proto__=1',
    ],
  ],
  [
    /^fence-method-/,
    [
      'action=reboot',
      'action=Off',
      'action=',
      'template=',
      'template=fence-method-template-none',
      'template=__proto__',
      'ip=-x',
      'ip=10.0.0.1 -x',
      'ip={{nobody}}',
      'ip={{__proto__}}',
      'identity_file=/etc/passwd',
      'ssh_options=-oProxyCommand=reboot',
      'ipmitool_path=/bin/sh',
      'password_script=/bin/sh',
      'verbose=1',
      'nobody=knows',
    ],
  ],
  [
    /^template\.properties$/,
    [
      'agent=fence_nobody',
      'agent=/bin/sh',
      'agent=../fence_ipmilan',
      'agent=',
      'driver=aws',
      'template=fence-method-template-bmc',
      'secret=../bmc',
      'secret={{__proto__}}',
      'lanplus=-x',
      'missing_as_off=1',
      'proxy=http://10.0.0.9',
    ],
  ],
];

export function lineEdit({ data }: Written, chance: Chance): LineEdit {
  const all = data as Data;
  const entry = chance.one(Object.keys(all));
  const text = all[entry] ?? '';
  const lines = text.split('\n');
  const line = chance.between(0, lines.length - 1);
  const without = lines.filter((_, index) => index !== line);
  const wrong = wrongLines.flatMap(([of, some]) => (of.test(entry) && !entry.startsWith('values.') ? some : []));
  const ways: (() => LineEdit)[] = [
    () => ({ entry, value: without.join('\n'), isWrong: false }),
    () => ({ entry, value: GONE, isWrong: false }),
    () => ({ entry, value: chance.one(['', '\n', '#', '\u0000', 'x'.repeat(10_000)]), isWrong: false }),
    () => ({ entry, value: [...lines, lines[line]].join('\n'), isWrong: true }),
    () => ({ entry: 'unknown', value: 'x=y', isWrong: !('template.properties' in all) }),
    () => ({ entry, value: changedValue(lines, line, chance).join('\n'), isWrong: false }),
    ...(wrong.length === 0 ? [] : [() => wrongEdit(entry, lines, chance.one(wrong))]),
    ...(wrong.length === 0 ? [] : [() => wrongEdit(entry, lines, chance.one(wrong))]),
  ];
  return chance.one(ways)();
}

/** In the place of the line that had this key. */
function wrongEdit(entry: string, lines: readonly string[], line: string): LineEdit {
  const [key = ''] = line.split('=', 1);
  const others = lines.filter((one) => key === '' || !one.startsWith(`${key}=`));
  return { entry, value: [...others, line].join('\n'), isWrong: true };
}

function changedValue(lines: readonly string[], at: number, chance: Chance): string[] {
  const [key = ''] = (lines[at] ?? '').split('=', 1);
  const value = chance.one([
    '',
    ' ',
    'off',
    'on',
    '10.0.0.9',
    '{{node}}',
    '{{bmc}}',
    'node-1',
    'a b',
    '|',
    'off | on',
    'é',
  ]);
  return lines.map((line, index) => (index === at ? `${key}=${value}` : line));
}
