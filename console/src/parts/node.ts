/** Nodes that are there come before those that have gone; otherwise they stay as they came. */
const GONE = new Set(['stopped', 'expired', 'dead'])

export function presentFirst<N extends { state: string }>(nodes: N[]): N[] {
  return [...nodes.filter((node) => !GONE.has(node.state)), ...nodes.filter((node) => GONE.has(node.state))]
}
