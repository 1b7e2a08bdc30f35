import { readdirSync, readFileSync } from 'node:fs';

const PAGE_KIB = 4;

/** CPU time that the threads of a process have used, in milliseconds. Linux; to the nanosecond, unlike /proc/PID/stat. */
export function cpuMs(pid: number): number {
  let ns = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
  }
  return ns / 1e6;
}

/** Memory that a process holds, in MiB. */
export function residentMiB(pid: number): number {
  return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_KIB) / 1024;
}
