// The ONNX Runtime side of compare_embed.py: a process that answers each line of stdin with a line of JSON.
// usage: node ort_embed.cjs MODULES MODEL.onnx IDS THREADS BATCH
// IDS has the token ids of one text per line. Requests:
//   file     embeds all texts in batches of BATCH in file order and answers {"seconds", "cpu"}
//   sorted   as above, with the texts sorted by length before they are split into batches
//   FILE     writes the vectors of all texts to FILE, f32 in file order, and answers {}
// Each batch is padded to its longest text. The tensors of ids and masks are created before the timing starts.
const fs = require('fs');
const path = require('path');
const readline = require('readline');

async function main() {
  const [modules, model, idsFile, threads, batchSize] = process.argv.slice(2);
  if (!batchSize) throw new Error('usage: node ort_embed.cjs MODULES MODEL.onnx IDS THREADS BATCH');
  const ort = require(path.join(path.resolve(modules), 'node_modules', 'onnxruntime-node'));
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: 'sequential',
    graphOptimizationLevel: 'all' });
  const rows = fs.readFileSync(idsFile, 'utf8').trimEnd().split('\n').map((line) => line.split(' ').map(BigInt));
  const inFile = rows.map((_, i) => i);
  const orders = { file: inFile, sorted: [...inFile].sort((a, b) => rows[b].length - rows[a].length || a - b) };

  function batches(order) {
    const result = [];
    for (let at = 0; at < order.length; at += Number(batchSize)) {
      const places = order.slice(at, at + Number(batchSize));
      const seq = Math.max(...places.map((i) => rows[i].length));
      const ids = new BigInt64Array(places.length * seq), mask = new BigInt64Array(places.length * seq);
      places.forEach((i, r) => rows[i].forEach((id, t) => { ids[r * seq + t] = id; mask[r * seq + t] = 1n; }));
      const sizes = [places.length, seq];
      result.push({ places, feeds: { ids: new ort.Tensor('int64', ids, sizes), mask: new ort.Tensor('int64', mask, sizes) } });
    }
    return result;
  }
  const made = { file: batches(orders.file), sorted: batches(orders.sorted) };
  await session.run(made.sorted[0].feeds);  // warm-up with the largest batch, so that its memory is allocated before the timing
  console.log(JSON.stringify({ version: ort.env.versions.node, tokens: rows.reduce((n, r) => n + r.length, 0) }));

  for await (const what of readline.createInterface({ input: process.stdin })) {
    if (made[what]) {
      const begin = process.hrtime.bigint(), before = process.cpuUsage();
      for (const batch of made[what]) await session.run(batch.feeds);
      const cpu = process.cpuUsage(before);
      console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - begin) / 1e9,
        cpu: (cpu.user + cpu.system) / 1e6 }));
      continue;
    }
    const out = [];
    for (const { places, feeds } of made.sorted) {
      const { vectors } = await session.run(feeds);
      const width = vectors.dims[1];
      places.forEach((i, r) => { out[i] = Buffer.from(vectors.data.slice(r * width, (r + 1) * width).buffer); });
    }
    fs.writeFileSync(what, Buffer.concat(out));
    console.log('{}');
  }
}

main().catch((error) => { console.error(`ort_embed: ${error.message}`); process.exit(1); });
