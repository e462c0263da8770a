/** Fence agents of clouds, for which there are drivers: what the driver calls a parameter of the agent. */
export interface CloudAgent {
  driver: string;
  /** The agent's name of a parameter → the driver's. */
  keys: Readonly<Record<string, string>>;
  /** What the driver does or does not do by itself. */
  without: readonly string[];
  /** What has to be in a Secret. */
  credentials: readonly string[];
}

const vsphere: CloudAgent = {
  driver: 'vsphere',
  keys: { plug: 'instance', ip: 'endpoint', username: 'username', password: 'password' },
  without: ['ssl', 'ssl_secure', 'filter'],
  credentials: ['password'],
};

export const cloudAgents: Readonly<Record<string, CloudAgent>> = {
  fence_aws: {
    driver: 'aws',
    keys: { plug: 'instance', region: 'region', access_key: 'access_key_id', secret_key: 'secret_access_key' },
    without: ['skip_race_check', 'skip_os_shutdown', 'boto3_debug', 'filter'],
    credentials: ['access_key_id', 'secret_access_key'],
  },
  fence_azure_arm: {
    driver: 'azure',
    keys: {
      plug: 'instance',
      username: 'client_id',
      password: 'client_secret',
      resourceGroup: 'resource_group',
      tenantId: 'tenant_id',
      subscriptionId: 'subscription_id',
    },
    without: [],
    credentials: ['client_secret'],
  },
  fence_gce: {
    driver: 'gce',
    keys: { plug: 'instance', zone: 'zone', project: 'project' },
    without: ['stackdriver_logging', 'apitimeout', 'retries', 'retrysleep', 'method'],
    credentials: ['credentials'],
  },
  fence_openstack: {
    driver: 'openstack',
    keys: {
      plug: 'instance',
      uuid: 'instance',
      auth_url: 'endpoint',
      username: 'username',
      password: 'password',
      project_name: 'project_name',
      user_domain_name: 'user_domain_name',
      project_domain_name: 'project_domain_name',
    },
    without: ['apitimeout'],
    credentials: ['password'],
  },
  fence_vmware_rest: vsphere,
  fence_vmware_soap: vsphere,
};
