// Encodes a corpus with the Rust library `tokenizers` on request: the peer in compare.py.
// usage: node peer.cjs MODULES TOKENIZER.json EMPTY.json CORPUS
// MODULES is the folder in which `npm install tokenizers` was run. Requests are those of tokenizer_bench.cc and
// "empty", which encodes all documents with EMPTY.json. That tokenizer looks each document up as one word, so
// the request measures the cost of passing strings to the library. Encodings are converted to JavaScript objects
// for "digest" only.
const path = require('path');
const fs = require('fs');
const readline = require('readline');
const [modules, file, empty, corpusFile] = process.argv.slice(2);
const { Tokenizer } = require(path.resolve(modules, 'node_modules', 'tokenizers'));

async function encode(tokenizer, documents, digest) {
  let nanoseconds = 0n;
  const sums = { count: 0, ids: 0n, offsets: 0n };
  for (let i = 0; i < documents.length; i += 256) {
    const batch = documents.slice(i, i + 256);
    const begin = process.hrtime.bigint();
    const encodings = await tokenizer.encodeBatch(batch, { addSpecialTokens: false });
    nanoseconds += process.hrtime.bigint() - begin;
    if (!digest) continue;
    for (const encoding of encodings) {
      const ids = encoding.getIds();
      const offsets = encoding.getOffsets();
      for (let k = 0; k < ids.length; ++k) {
        const place = BigInt(++sums.count % 1009 + 1);
        sums.ids += BigInt(ids[k]) * place;
        sums.offsets += BigInt(offsets[k][0] + 2 * offsets[k][1]) * place;
      }
    }
  }
  return { seconds: Number(nanoseconds) / 1e9, ...sums };
}

async function main() {
  const start = process.hrtime.bigint();
  const tokenizer = Tokenizer.fromFile(file);
  const load = Number(process.hrtime.bigint() - start) / 1e9;
  const nothing = Tokenizer.fromFile(empty);
  const documents = fs.readFileSync(corpusFile, 'utf8').split('\0').filter((text) => text.length > 0);
  console.log(JSON.stringify({ load }));
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const result = await encode(line === 'empty' ? nothing : tokenizer, documents, line === 'digest');
    console.log(JSON.stringify(result, (_, value) => (typeof value === 'bigint' ? Number(value % (1n << 53n)) : value)));
  }
}

main();
