// What a view leaves behind when another takes its place: charts listen to the window.

const tasks = new Set<() => void>();

export function whenLeft(task: () => void): void {
  tasks.add(task);
}

export function leave(): void {
  for (const task of tasks) task();
  tasks.clear();
}
