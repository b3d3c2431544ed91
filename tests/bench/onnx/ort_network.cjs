// The ONNX Runtime side of compare.py: a process that runs a model once for each line of stdin and answers with a line of JSON,
// {"seconds", "mean"}. usage: node ort_network.cjs MODULES MODEL.onnx THREADS NAME=TYPE,SIZE,SIZE...
const path = require('path');
const readline = require('readline');

async function main() {
  const [modules, model, threads, ...inputs] = process.argv.slice(2);
  if (!inputs.length) throw new Error('usage: node ort_network.cjs MODULES MODEL.onnx THREADS NAME=TYPE,SIZE,SIZE...');
  const ort = require(path.join(path.resolve(modules), 'node_modules', 'onnxruntime-node'));
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all' });
  const feeds = {};
  for (const input of inputs) {
    const [name, form] = input.split('=');
    const [type, ...sizes] = form.split(',');
    const length = sizes.reduce((a, b) => a * Number(b), 1);
    const data = type === 'int64' ? new BigInt64Array(length).fill(1n) : Float32Array.from({ length }, (_, i) => Math.sin(i));
    feeds[name] = new ort.Tensor(type, data, sizes.map(Number));
  }
  for (let i = 0; i < 2; i++) await session.run(feeds);
  console.log(JSON.stringify({ version: ort.env.versions.node }));
  for await (const _ of readline.createInterface({ input: process.stdin })) {
    const begin = process.hrtime.bigint();
    const results = await session.run(feeds);
    const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
    const { data } = results[session.outputNames[0]];
    console.log(JSON.stringify({ seconds, mean: data.reduce((sum, x) => sum + Math.abs(x), 0) / data.length }));
  }
}

main().catch((error) => { console.error(`ort_network: ${error.message}`); process.exit(1); });
