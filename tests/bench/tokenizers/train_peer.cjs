// Trains byte-level BPE on a text with the Rust library `tokenizers` and prints the seconds: the peer of
// `weft tokenizer train --vocab 30000 --min-frequency 0` (the npm package does not support another size).
// usage: node train_peer.cjs MODULES TEXT
const path = require('path');
const [modules, text] = process.argv.slice(2);
const { Tokenizer } = require(path.resolve(modules, 'node_modules', 'tokenizers'));

const tokenizer = Tokenizer.fromString(JSON.stringify({
  version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null,
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: null, decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  model: { type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null,
    fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab: {}, merges: [] },
}));
const begin = process.hrtime.bigint();
tokenizer.train([text]);
console.log(JSON.stringify({ seconds: Number(process.hrtime.bigint() - begin) / 1e9, vocab: tokenizer.getVocabSize() }));
