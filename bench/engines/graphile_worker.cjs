// graphile-worker: one instance of the pool, set up as its page on performance advises for fast tasks
// (worker.graphile.org/docs/performance): a local queue of 500, completions in batches.
// Usage: node graphile_worker.cjs DATABASE_URL; runs until it is told to stop.
const { run } = require("graphile-worker");

const CONCURRENT_JOBS = 24;

async function main() {
  const runner = await run({
    taskList: { noop: async () => {} },
    preset: {
      worker: {
        connectionString: process.argv[2],
        concurrentJobs: CONCURRENT_JOBS,
        maxPoolSize: CONCURRENT_JOBS + 1,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  console.log("ready");
  await runner.promise;
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
