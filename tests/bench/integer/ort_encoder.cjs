// The ONNX Runtime side of compare.py: a process that runs a model once for each line of stdin and answers with a line of JSON,
// {"seconds"}. usage: node ort_encoder.cjs MODULES MODEL.onnx THREADS
const path = require('path');
const readline = require('readline');

async function main() {
  const [modules, model, threads] = process.argv.slice(2);
  if (!threads) throw new Error('usage: node ort_encoder.cjs MODULES MODEL.onnx THREADS');
  const ort = require(path.join(path.resolve(modules), 'node_modules', 'onnxruntime-node'));
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential',
    graphOptimizationLevel: 'all' });
  const x = path.basename(model).startsWith('vit')
    ? new ort.Tensor('float32', Float32Array.from({ length: 8 * 3 * 224 * 224 }, () => Math.random() - 0.5), [8, 3, 224, 224])
    : new ort.Tensor('int64', BigInt64Array.from({ length: 8 * 128 }, () => BigInt(Math.floor(Math.random() * 30522))), [8, 128]);
  for (let i = 0; i < 2; i++) await session.run({ x });
  console.log(JSON.stringify({ version: ort.env.versions.node }));
  for await (const _ of readline.createInterface({ input: process.stdin })) {
    const begin = process.hrtime.bigint();
    await session.run({ x });
    console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - begin) / 1e9 }));
  }
}

main().catch((error) => { console.error(`ort_encoder: ${error.message}`); process.exit(1); });
