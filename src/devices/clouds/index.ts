/** The clouds whose instances can be switched, by the names that templates use: `driver=aws`. */
import type { DeviceDriver } from '../device.ts';
import { aws } from './aws.ts';
import { azure } from './azure.ts';
import { cloudDriver } from './cloud.ts';
import { gce } from './gce.ts';
import { openstack } from './openstack.ts';
import { vsphere } from './vsphere.ts';

export const cloudDrivers: ReadonlyMap<string, DeviceDriver> = new Map(
  [aws, azure, gce, openstack, vsphere].map((cloud) => [cloud.name, cloudDriver(cloud)]),
);
