/** The alerts as deploy/alerts.yaml has them. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Alert {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
}

export const alertsFile = 'deploy/alerts.yaml';

export const alerts: readonly Alert[] = (
  parse(readFileSync(alertsFile, 'utf8')) as { groups: { rules: Alert[] }[] }
).groups.flatMap(({ rules }) => rules);
