// Writes valid files as initial corpora for the fuzzers. write_fuzz_seeds FOLDER creates
// FOLDER/{dim,text,container,safetensors,gguf,onnx,idx,image_csv,image,audio,sentence_piece,tokenizer_json,
// vocab_txt,merges,jsonl,token_file,chat_template,frame,handshake,shards,http_request,constraint}/*.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/core/world/control_message.h"
#include "weft/core/world/handshake.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/normalizers/character_rules.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/models/text/tokens/token_writer.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/gguf/blocks.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/fuzz/read_checkpoint.h"
#include "weft/tests/support/audio_files.h"
#include "weft/tests/support/image_files.h"

namespace {

using namespace weft;

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw IoError("cannot write " + path.string());
}

/// Returns a unigram model with a character map, byte fallback, a user-defined symbol, an added
/// token and a custom id layout.
std::string unigram_model() {
  using Kind = SentencePieceModel::Kind;
  SentencePieceModel model;
  model.algorithm = SentencePieceModel::Algorithm::unigram;
  model.pieces = {
      {"<unk>", 0, Kind::unknown}, {"</s>", 0, Kind::control}, {"<x>", 0, Kind::symbol}};
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back(
        {std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 0, Kind::byte});
  float score = -1;
  for (const char* text : {"\u2581the", "\u2581", "cat", "at", "c", "\u00e9"})
    model.pieces.push_back({text, score--, Kind::normal});
  model.byte_fallback = true;
  model.normalizer.name = "own";
  model.normalizer.compiled_map = compile({{U"\t", U" "}, {U"e\u0301", U"\u00e9"}});
  model.layout.added = {{"<new>", true, true, false}};
  for (int id = 0; id < static_cast<int>(model.pieces.size()); ++id) model.layout.ids.push_back(id);
  model.layout.ids.push_back(-1);
  return model.to_bytes();
}

/// Writes a file with values of many types, and a file with a tensor of every encoding.
void write_gguf_seeds(const std::filesystem::path& folder) {
  GgufMetadata metadata;
  metadata.set("general.architecture", "llama")
      .set("general.alignment", std::uint32_t{8})
      .set("llama.block_count", std::uint32_t{1})
      .set("llama.rope.freq_base", 1e4F)
      .set("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "a"})
      .set("tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 1})
      .set("tokenizer.ggml.add_bos_token", true)
      .set("small", std::int8_t{-1})
      .set("large", std::uint64_t{1} << 63);
  write_gguf((folder / "metadata").string(), metadata,
             {encoded("token_embd.weight", Tensor::zeros(DType::f32, {2, 32}), GgmlType::q8_0),
              encoded("output_norm.weight", Tensor::full(DType::f32, {32}, 1), GgmlType::f32)});
  std::vector<GgufTensor> tensors;
  for (const char* name : {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K",
                           "Q5_K", "Q6_K", "MXFP4"}) {
    const GgmlType type = parse_ggml_type(name);
    const std::int64_t elements = ggml_block_elements(type);
    tensors.push_back(
        {name, type, {2, elements}, Tensor::full(DType::u8, {2 * ggml_block_bytes(type)}, 0x35)});
  }
  write_gguf((folder / "encodings").string(), {}, tensors);
}

void write_seeds(const std::filesystem::path& folder) {
  for (const char* name :
       {"dim",       "text",      "container",    "safetensors", "gguf",           "idx",
        "onnx",      "image_csv", "image",        "audio",       "sentence_piece", "tokenizer_json",
        "vocab_txt", "merges",    "jsonl",        "token_file",  "chat_template",  "frame",
        "handshake", "shards",    "http_request", "constraint"}) {
    std::filesystem::create_directories(folder / name);
  }
  write_text(folder / "dim/polynomial", "2*batch*seq - 3*seq + 1");
  write_text(folder / "dim/atoms", "floor_div(seq - 1, 2) + max(a*(b + 1), min(4, -b))");

  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 3});
  const Value z = g.input("z", DType::f32, {"batch", 2});
  const Variable weight =
      g.variable("net.weight", DType::f32, {3, 2}, {.initializer = Initializer::normal(0.5)});
  const Value y = softmax(matmul(x, weight), -1) + g.constant(Tensor::of<float>({2}, {0.25F, -1}));
  const Value loss = mean(square(y - z));
  g.set_name("net.out", y);
  Program train("train");
  train.output("loss", loss).update(adamw(loss, g.parameters(), {.lr = 0.01}));
  Program predict("predict");
  predict.output("y", y);
  write_text(folder / "text/predict", to_text(predict));
  write_text(folder / "text/train", to_text(train));
  Session session(g);
  save_checkpoint((folder / "container/small").string(), session, {predict});
  // Contains only the manifest, because fuzz_shards writes the shards itself.
  const std::string& scratch = fuzz::scratch_folder();
  fuzz::write_sharded(scratch);
  std::filesystem::copy_file(scratch + "/net.weft", folder / "shards/two",
                             std::filesystem::copy_options::overwrite_existing);
  write_safetensors((folder / "safetensors/two").string(),
                    {{"weight", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                     {"ids", Tensor::of<std::int64_t>({3}, {7, 8, 9})}},
                    {{"format", "pt"}});
  write_gguf_seeds(folder / "gguf");
  write_onnx((folder / "onnx/small").string(), predict, *session.store());
  write_text(folder / "idx/bytes", testing::unhex("000008020000000200000003000102fdfeff"));
  write_text(folder / "idx/packed",
             testing::unhex("1f8b0800000000000203cb48cdc9c957c84090008088f9e511000000"));
  write_text(
      folder / "tokenizer_json/byte_pairs",
      R"({"version":"1.0","added_tokens":[{"id":3,"content":"</s>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true}],"normalizer":{"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\d"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true}]},"post_processor":{"type":"RobertaProcessing","sep":["</s>",3],"cls":["</s>",3],"trim_offsets":true,"add_prefix_space":true},"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true},"model":{"type":"BPE","vocab":{"a":0,"t":1,"at":2},"merges":["a t"]}})");
  write_text(
      folder / "tokenizer_json/words",
      R"({"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"x","type_id":1}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"x":{"id":"x","ids":[0],"tokens":["x"]}}},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"model":{"type":"WordPiece","unk_token":"x","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"x":0,"c":1,"##at":2}}})");
  write_text(folder / "vocab_txt/words",
             "[PAD]\n[UNK]\n[CLS]\r\n[SEP]\n[MASK]\nthe\ncat\n##s\n\u00e9\n\n1\n##2");
  using std::string_literals::operator""s;
  write_text(folder / "merges/pairs",
             R"({"a":0,"t":1,"at":2,"\u0120":3,"\u0120at":4,"<|endoftext|>":5})"
             "\0#version: 0.2\na t\n\u0120 at\n"s);
  write_text(folder / "sentence_piece/unigram", unigram_model());
  write_text(folder / "sentence_piece/byte_pairs",
             SentencePieceTokenizer::train(std::vector<std::string>{"the cat sat on the mat"},
                                           {.vocab = 25, .character_coverage = 1})
                 .to_bytes());
  write_text(folder / "jsonl/objects",
             "{\"text\": \"one\\n\\u00e9\\ud83d\\ude00\", \"meta\": {\"x\": [1, "
             "null]}}\n{\"text\":\"two\"}\n");
  TokenFileWriter tokens((folder / "token_file/two").string(),
                         CharacterTokenizer::from_text("abc").with_ends());
  for (int i = 0; i < 2; ++i) {
    tokens.add(std::vector<std::int32_t>(5000, 2 + i), 5000);
    tokens.mark();
    tokens.end_document();
  }
  tokens.finish(true);
  for (const std::string_view name : ChatFormat::built_in_names()) {
    write_text(folder / "chat_template" / name, ChatFormat::built_in(name).source());
  }
  // The first letter selects a chat (c), a completion (b), a generated text (d) or another body.
  // The first byte selects a schema (even) or a regular expression.
  write_text(folder / "constraint/schema",
             R"(b{"type":"object","properties":{"a":{"type":["string","null"],
    "pattern":"^a|b$","maxLength":5},"b":{"type":"number","minimum":-1.5,"exclusiveMaximum":12},"c":{"type":"array",
    "items":{"$ref":"#"},"minItems":1},"d":{"anyOf":[{"enum":["x",1]},{"type":"string","format":"date"}]}},
    "required":["b"],"additionalProperties":{"type":"integer","multipleOf":3}})");
  write_text(folder / "constraint/regex", R"(a(?:[^a-c\d]+|\u00e4{2,3}?|.)*x?)");
  write_text(folder / "http_request/chat", R"(c{"model": "m", "messages": [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f",
     "arguments": "{\"x\": 1}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "2"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x":
     {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "number"}}}}}, {"type": "function", "function": {"name": "g"}}],
    "tool_choice": "required", "max_completion_tokens": 20, "n": 2, "stop": ["a", "b"], "logit_bias": {"1": -100},
    "logprobs": true, "top_logprobs": 3, "stream": true, "stream_options": {"include_usage": true}})");
  write_text(folder / "http_request/schema",
             R"(c{"messages": [{"role": "user", "content": "a"}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema":
    {"type": "object"}}}, "tool_choice": "none", "chat_template_kwargs": {"x": [1, "y"]}, "timeout": 2.5})");
  write_text(folder / "http_request/completion",
             R"(b{"prompt": [[1, 2], "text"], "max_tokens": 5, "seed": -1,
    "temperature": 0.5, "top_p": 0.9, "top_k": 3, "min_p": 0.1, "frequency_penalty": 1, "presence_penalty": -1,
    "logprobs": 2, "structured_outputs": {"choice": ["yes", "no"]}, "user": "u"})");
  write_text(
      folder / "http_request/embeddings",
      R"(a{"model": "m", "input": [[1, 2], [3]], "dimensions": 8, "encoding_format": "base64"})");
  write_text(
      folder / "http_request/rerank",
      R"(a{"query": "q", "documents": ["x", {"text": "y"}], "top_n": 1, "return_documents": true})");
  write_text(folder / "http_request/translate",
             R"(a{"input": "x", "source": "eng", "target": "swe", "beams": 2, "timeout": 1})");
  write_text(folder / "http_request/tokenize",
             R"(a{"messages": [{"role": "user", "content": "x"}], "tokens": [1, 2], "top_k": 3})");
  write_text(folder / "http_request/hermes",
             R"(da <tool_call>{"name": "f", "arguments": {"x": [1]}}</tool_call> b)");
  write_text(folder / "http_request/llama", R"(d{"name": "f", "parameters": {}})");
  write_text(folder / "http_request/mistral",
             R"(d[TOOL_CALLS] [{"name": "f", "arguments": "{}"}, {"name": "g", "arguments": {}}])");
  // Operations on long operands: the byte 0xFF, then the choices of fuzz_chat_template.cc.
  for (char kind = 0; kind < 6; ++kind) {
    for (char i = 0; i < 16; ++i)
      write_text(folder / "chat_template" /
                     ("operation_" + std::to_string(kind) + "_" + std::to_string(i)),
                 {'\xFF', static_cast<char>(i % 4), kind, i, static_cast<char>(i % 5), '\1', '\0'});
  }
  write_text(
      folder / "chat_template/constructs",
      "{%- macro f(a, b=2) -%}{{ a[::-1] ~ b }}{%- endmacro %}\n"
      "{# c -#} {% set ns = namespace(n=0) %}{% set t | upper %}x{{ x // 2 % 3 }}{% endset %}\n"
      "{% for m in messages if m.role is not none -%}\n"
      "  {% set ns.n = ns.n + loop.index0 %}{{ loop.previtem.role if not loop.first }}\n"
      "  {%+ if m['content'].strip('\\n').split()[-1:] | tojson(indent=2) in [z, ''] %}"
      "{% break %}{% elif loop.last or m.name is defined %}{{ f(m.content, b=ns.n) | trim }}"
      "{% else %}{% generation %}{{ m.items() | list }}{% endgeneration %}{% endif %}\n"
      "{%- else %}none{% endfor %}{{ messages | map(attribute='role') | join(', ') }}"
      "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"
      "{{ y * 1.5e3 <= 2 != false and {'a': (1, [2])}['a'][1] }}{{ t | default('d', true) }}"
      "{{ 'a,b'.replace(',', '\\u00e9').title() | indent(2) }}{{ range(3) | list }}"
      "{{ strftime_now('%d %b %Y') }}{{ bos_token }}");
  const auto write_frame = [&](const char* name, const ControlMessage& message) {
    const ControlMessageBytes bytes = encode_control_message(message);
    write_text(folder / "frame" / name,
               std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  write_frame("alive",
              {.kind = ControlMessage::Kind::heartbeat, .rank = 1, .text = "step 12: saving"});
  write_frame("left",
              {.kind = ControlMessage::Kind::left, .phase_seconds = 1.5, .sent = 3, .received = 4});
  write_frame("poison",
              {.kind = ControlMessage::Kind::poison, .rank = 4, .text = "rank 1: no space left"});
  Handshake handshake;
  handshake.add("the seed", "1");
  handshake.add("the data (a fingerprint)", "");
  write_text(folder / "handshake/two", handshake.bytes());
  write_text(folder / "image_csv/two", "0,16,8,4,1\n4,0,0,16,0\n");
  write_text(folder / "image/grey.png", testing::grey_png());
  write_text(folder / "image/colour.png", testing::colour_png());
  write_text(folder / "image/colour.bmp", testing::colour_bmp());
  write_text(folder / "image/grey.jpg", testing::grey_jpeg());
  const std::vector<float> tone = testing::tone(440, 0.02, 8000);
  write_text(folder / "audio/tone.wav", testing::audio_file(tone, 8000));
  write_text(folder / "audio/float.wav",
             testing::audio_file(tone, 8000, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 2));
  write_text(folder / "audio/tone.flac",
             testing::audio_file(tone, 8000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_fuzz_seeds FOLDER\n");
    return 2;
  }
  try {
    write_seeds(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "write_fuzz_seeds: %s\n", e.what());
    return 1;
  }
  return 0;
}
