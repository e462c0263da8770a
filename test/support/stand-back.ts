/** Loaded before a test of virtual time that runs beside tests of real time: it takes what those leave of the processor. */
import { setPriority } from 'node:os';

setPriority(10);
