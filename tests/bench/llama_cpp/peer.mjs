// Measures llama.cpp through node-llama-cpp: node peer.mjs FOLDER FILE.gguf THREADS
// FOLDER contains node_modules. Lines on stdin are "prefill TOKENS" and "decode CONTEXT TOKENS"; the answers are
// lines of JSON with the seconds and the CPU seconds. Only llama_decode is timed; it computes the logits of the last
// token.
import path from "path";
import readline from "readline";
import { pathToFileURL } from "url";

const [folder, file, threads] = process.argv.slice(2);
const { getLlama } = await import(pathToFileURL(path.join(folder, "node_modules/node-llama-cpp/dist/index.js")));
const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: "error",
                               maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: 1024, batchSize: 1024, threads: Number(threads),
                                            flashAttention: process.env.FLASH !== "0" });
const addon = context._ctx;

async function step(tokens, position) {
  addon.initBatch(tokens.length);
  addon.addToBatch(0, position, Uint32Array.from(tokens), Uint32Array.from([tokens.length - 1]));
  const begin = process.hrtime.bigint(), before = process.cpuUsage();
  await addon.decodeBatch();
  const { user, system } = process.cpuUsage(before);
  return { seconds: Number(process.hrtime.bigint() - begin) / 1e9, cpu_seconds: (user + system) / 1e6 };
}

const ids = (count, first) => Array.from({ length: count }, (_, i) => 3 + (first + i) * 7919 % 30000);
console.log(JSON.stringify({ info: llama.systemInfo, threads: addon.getThreads(),
                             flash_attention: context.flashAttention }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [what, ...counts] = line.split(" ");
  const [first, count] = counts.map(Number);
  addon.removeTokenCellsFromSequence(0, 0, -1);
  let total = await step(ids(first, 0), 0);
  if (what === "decode") {
    total = { seconds: 0, cpu_seconds: 0 };
    for (let i = 0; i < count; ++i) {
      const one = await step(ids(1, first + i), first + i);
      for (const key in total) total[key] += one[key];
    }
  }
  console.log(JSON.stringify(total));
}
