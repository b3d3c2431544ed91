// Times ONNX Runtime on a model written by export_onnx.py and prints one JSON object.
// usage: node ort_peer.js FOLDER MODEL BATCH SEQ [THREADS [RUNS]]
// onnxruntime-node is searched for in this folder, the current one and $WEFT_ORT (a folder with node_modules).
const path = require('path');
const folders = [__dirname, process.cwd(), process.env.WEFT_ORT].filter(Boolean);
const ort = require(require.resolve('onnxruntime-node', { paths: folders }));

const vocabularies = { gpt2: 50257, 'bert-base': 30522 };

async function main() {
  const [folder, model, batch, seq, threads = '2', runs = '7'] = process.argv.slice(2);
  if (!seq) throw new Error('usage: node ort_peer.js FOLDER MODEL BATCH SEQ [THREADS [RUNS]]');
  const session = await ort.InferenceSession.create(path.join(folder, `${model}.onnx`), {
    intraOpNumThreads: Number(threads), graphOptimizationLevel: 'all' });
  const b = Number(batch), t = Number(seq);
  const x = model === 'vit-b16'
    ? new ort.Tensor('float32', Float32Array.from({ length: b * 3 * 224 * 224 },
        () => Math.random() - 0.5), [b, 3, 224, 224])
    : new ort.Tensor('int64', BigInt64Array.from({ length: b * t },
        () => BigInt(Math.floor(Math.random() * vocabularies[model]))), [b, t]);
  const times = [];
  for (let i = 0; i <= Number(runs); i++) {
    const begin = process.hrtime.bigint();
    await session.run({ x });
    times.push(Number(process.hrtime.bigint() - begin) / 1e9);
  }
  const sorted = times.slice(1).sort((p, q) => p - q);
  console.log(JSON.stringify({ peer: `ONNX Runtime ${ort.env.versions.common}`, model, batch: b,
    seq: t, seconds_per_step: sorted[Math.floor(sorted.length / 2)] }));
}

main().catch((error) => { console.error(`ort_peer: ${error.message}`); process.exit(1); });
