/** Each command is a file of its own and is loaded only when it is called: the operator must not pay for what the others need. */
import type { Command } from 'commander';

export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./demo.ts')).demoCommand(),
  run: async () => (await import('./run.ts')).runCommand(),
  simulate: async () => (await import('./simulate.ts')).simulateCommand(),
  replay: async () => (await import('./replay.ts')).replayCommand(),
  console: async () => (await import('./console.ts')).consoleCommand(),
  status: async () => (await import('./status.ts')).statusCommand(),
  explain: async () => (await import('./explain.ts')).explainCommand(),
  crds: async () => (await import('./crds.ts')).crdsCommand(),
  convert: async () => (await import('./convert.ts')).convertCommand(),
  'plan-drain': async () => (await import('./plan-drain.ts')).planDrainCommand(),
  check: async () => (await import('./check.ts')).checkCommand(),
  pause: async () => (await import('./pause.ts')).pauseCommand(),
  stop: async () => (await import('./stop.ts')).stopCommand(),
  resume: async () => (await import('./resume.ts')).resumeCommand(),
  approve: async () => (await import('./approve.ts')).approveCommand(),
  fence: async () => (await import('./fence.ts')).fenceCommand(),
  drill: async () => (await import('./drill.ts')).drillCommand(),
  version: async () => (await import('./version.ts')).versionCommand(),
};
